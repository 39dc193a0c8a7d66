"""Sessions that carry arguments from call to call, for models that return their new state."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.utils import _pytree as pytree

from . import _C
from .errors import ArgumentError

if TYPE_CHECKING:
    from .exported import CallSpec

_LEAF = pytree.tree_flatten(0)[1]


@dataclass(frozen=True)
class Carried:
    """What a session carries, and how its calls nest the other arguments and results."""

    state: dict[str, int | str]  # by argument: the result that is its next value, as `module.session` was told
    results: dict[str, int]  # the same by argument and result of the graph
    parts: dict[str, tuple[list[str], pytree.TreeSpec]]  # by argument: those of the graph, and how they are nested
    call_spec: _C.CallSpec | None  # None: nothing is nested

    def nested(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by argument, of those by argument of the graph. Omits arguments that have no value."""
        return {name: pytree.tree_unflatten([values[part] for part in parts], spec)
                for name, (parts, spec) in self.parts.items() if all(part in values for part in parts)}

    def flat_dims(self, dims: Mapping[str, int]) -> dict[str, int]:
        """Dimensions by argument of the graph."""
        return {part: dim for name, dim in dims.items() for part in self.parts.get(name, ([name], _LEAF))[0]}

    def flat(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Values by argument of the graph. Raises ArgumentError."""
        values: dict[str, Any] = {}
        for name, value in state.items():
            parts, spec = self.parts.get(name, ([name], _LEAF))  # an unknown name is refused later
            leaves = [value] if spec.is_leaf() else pytree.tree_leaves(value)
            if len(leaves) != len(parts):
                raise ArgumentError(f'The value given for {name!r} has {len(leaves)} tensors and numbers, expected '
                                    f'{len(parts)}.')
            values.update(zip(parts, leaves, strict=True))
        return values


def of_flat_call(state: Mapping[str, int | str]) -> Carried:
    """For a model whose calls nest nothing."""
    if not all(isinstance(result, int) and result >= 0 for result in state.values()):
        raise ArgumentError(f'`state` is {dict(state)!r}; expected the position of a result for each name.')
    results = {name: int(result) for name, result in state.items()}
    return Carried(dict(state), results, {name: ([name], _LEAF) for name in state}, None)


def of_nested_call(state: Mapping[str, int | str], spec: 'CallSpec', names: Iterable[str]) -> Carried:
    """For an exported program. `names` are those of the graph's arguments. Raises ArgumentError."""
    from .exported import CallSpec
    order = iter(names)
    named = [next(order) if constant is None else None for constant in spec.constants]
    args, kwargs = pytree.tree_unflatten(range(spec.in_spec.num_leaves), spec.in_spec)
    given = {_name_of(child, named) or str(i): child for i, child in enumerate(args)} | kwargs
    returned = pytree.tree_unflatten(range(spec.out_spec.num_leaves), spec.out_spec)
    results: dict[str, int] = {}
    parts: dict[str, tuple[list[str], pytree.TreeSpec]] = {}
    for name, result in state.items():
        if name not in given:
            raise ArgumentError(f'`state` names {name!r}, but the arguments of the model are {", ".join(given)}.')
        leaves, nesting = pytree.tree_flatten(given[name])
        new = pytree.tree_leaves(_result(returned, result))
        known = [part for leaf in leaves if (part := named[leaf]) is not None]
        if len(known) != len(leaves) or len(new) != len(leaves):
            raise ArgumentError(f'The argument {name!r} has {len(known)} tensors and numbers, and result {result!r} has '
                                f'{len(new)}: they cannot be carried.')
        results.update(zip(known, new, strict=True))
        parts[name] = known, nesting
    rest = [child for name, child in list(given.items())[:len(args)] if name not in state]
    leaves, in_spec = pytree.tree_flatten((tuple(rest), {name: kwargs[name] for name in kwargs if name not in state}))
    twins = [(leaves.index(a), leaves.index(b), name, other) for a, b, name, other in spec.twins
             if a in leaves and b in leaves]
    out_spec = pytree.tree_flatten(_without(returned, set(state.values())))[1]
    made = CallSpec(in_spec, out_spec, [spec.constants[leaf] for leaf in leaves], twins)
    return Carried(dict(state), results, parts, made.compiled())


def _name_of(child: Any, named: list[str | None]) -> str | None:
    """The parameter of `forward` that has this value. torch.export adds the path of each tensor to its name."""
    leaf: int
    for path, leaf in pytree.tree_flatten_with_path(child)[0]:
        name = named[leaf]
        if name is not None:
            keys = [getattr(key, 'idx', getattr(key, 'key', getattr(key, 'name', ''))) for key in path]
            return name.removesuffix(''.join('_' + re.sub('[^a-zA-Z0-9]', '', str(key)).lower() for key in keys))
    return None


def _result(returned: Any, result: int | str) -> Any:
    try:
        return returned[result]
    except (IndexError, KeyError, TypeError):
        raise ArgumentError(f'`state` names result {result!r}, which the model does not return.') from None


def _without(returned: Any, carried: set[int | str]) -> Any:
    if isinstance(returned, Mapping):
        return {name: value for name, value in returned.items() if name not in carried}
    rest = tuple(value for i, value in enumerate(returned) if i not in carried)
    return rest[0] if len(rest) == 1 else rest
