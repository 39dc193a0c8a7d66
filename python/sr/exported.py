"""Programs of torch.export: from memory, from archives, and the nesting of their arguments and results."""

import contextlib
import json
import logging
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, Unpack

import torch
from torch.utils import _pytree as pytree

from . import _C, _formats
from ._carried import Carried, of_nested_call
from ._module import StaticModule
from ._options import Options, checked, of_module, of_restored
from .errors import ArgumentError, UnsupportedOpError


# The indices and the names of two leaves of a call that were the same tensor when the model was exported.
Twins = tuple[int, int, str, str]


@dataclass
class CallSpec:
    """How a call of the program nests its arguments and its result, and which arguments are part of the graph."""

    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    constants: list[tuple[Any] | None]  # of each leaf of a call: what export took for it; None: the call gives it
    twins: list[Twins] = field(default_factory=list)

    @property
    def is_flat(self) -> bool:
        """Are the arguments and the result tensors and numbers by position, with nothing around them?"""
        args, kwargs = self.in_spec.children()
        leaves = all(child.is_leaf() for child in args.children())
        fixed = any(self.constants) or self.twins
        return leaves and not kwargs.children() and not fixed and self.out_spec.is_leaf()

    def compiled(self) -> _C.CallSpec:
        return _C.CallSpec(self.in_spec, self.out_spec, self.constants, self.twins)


class ExportedModule(StaticModule):
    """A StaticModule whose arguments and result are nested as they were when the program was exported."""

    __slots__ = ('_call_spec', '_compiled')

    _call_spec: CallSpec
    _compiled: _C.CallSpec

    @classmethod
    def _nesting(cls, prepared: _C.Prepared, call_spec: CallSpec, frontend: str, chosen: dict[str, Any]) -> StaticModule:
        if call_spec.is_flat:
            return StaticModule._made(prepared, frontend, chosen)
        module = cls.__new__(cls)
        module._call_spec, module._compiled = call_spec, call_spec.compiled()
        module._own(prepared, frontend, chosen, module._compiled)
        return module

    def runAsync(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.futures.Future[Any]:
        nested = self._compiled.nested
        return super().runAsync(args, kwargs).then(lambda done: nested(done.value()))

    @property
    def __signature__(self) -> inspect.Signature:
        """Arguments are nested as they were at export, under names that only the exported program knows."""
        return inspect.Signature([inspect.Parameter('args', inspect.Parameter.VAR_POSITIONAL),
                                  inspect.Parameter('kwargs', inspect.Parameter.VAR_KEYWORD)])

    def _carrying(self, state: Mapping[str, int | str]) -> Carried:
        return of_nested_call(state, self._call_spec, [value.name for value in self.inputs])

    def clone(self) -> Self:
        return self._prepared_anew(self._prepared.clone(), self._chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        state = self._prepared.format, self._prepared.archive(), self._call_spec, self._frontend, self._chosen
        return _restored, (*state, self._prepared.replaced_weights(), self._state())

    def _prepared_anew(self, prepared: _C.Prepared, chosen: dict[str, Any]) -> Self:
        made = self._nesting(prepared, self._call_spec, self._frontend, chosen)
        assert isinstance(made, type(self))
        return made


def _restored(form: str, archive: bytes, call_spec: CallSpec, frontend: str, chosen: dict[str, Any],
              replaced: dict[str, torch.Tensor], state: dict[str, Any]) -> StaticModule:
    prepared = _formats.prepare(form, archive, of_restored(chosen, replaced))
    module = ExportedModule._nesting(prepared, call_spec, frontend, chosen)
    if replaced:
        module.update(replaced, strict=False)
    module._load(state, True)
    return module


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the serializer logs is about its own choices."""
    log = logging.getLogger('torch._export.serde.serialize')
    before = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            yield
    finally:
        log.disabled = before


def _serialised(program: torch.export.ExportedProgram) -> str:
    """The program without its tensors, its examples and the nesting of its arguments."""
    from torch._export.serde import schema, serialize

    graph_module = serialize.GraphModuleSerializer(program.graph_signature, []).serialize(program.graph_module)
    whole = schema.ExportedProgram(
        graph_module=graph_module, opset_version={},
        range_constraints=serialize.serialize_range_constraints(program.range_constraints),
        schema_version=schema.SchemaVersion(*schema.SCHEMA_VERSION), torch_version=torch.__version__)
    to_dict: Callable[[Any], Any] = serialize._dataclass_to_dict
    return json.dumps(to_dict(whole), cls=serialize.EnumEncoder)


def _plain_tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensor by its name; of one that wraps others, as torchao's quantized weights do, those: 'weight.qdata'."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if is_traceable_wrapper_subclass(value):
        for part in value.__tensor_flatten__()[0]:
            yield from _plain_tensors(f'{name}.{part}', getattr(value, part))
    elif isinstance(value, torch.Tensor):
        yield name, value


def _twins(program: torch.export.ExportedProgram) -> list[Twins]:
    """Finds leaves that were the same tensor in the example arguments, so that the graph reads only one of them."""
    if program.example_inputs is None:
        return []
    users = {node.name: len(node.users) for node in program.graph.nodes if node.op == 'placeholder'}
    names = program.graph_signature.user_inputs
    leaves = pytree.tree_flatten_with_path(program.example_inputs)[0]
    if len(names) != len(leaves):
        return []
    places: dict[int, list[int]] = {}
    for i, (_, leaf) in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            places.setdefault(id(leaf), []).append(i)
    return [(same[0], other, _place(leaves[same[0]][0]), _place(leaves[other][0])) for same in places.values()
            for other in same[1:] if sum(users.get(str(names[i]), 0) != 0 for i in same) == 1]


def _place(path: Sequence[Any]) -> str:
    where, first, *inner = path
    name = first.idx if where.idx == 0 else f"'{first.key}'"
    return f'argument {name}{pytree.keystr(tuple(inner))}'


def from_exported(program: torch.export.ExportedProgram, **options: Unpack[Options]) -> StaticModule:
    """The module of a program of `torch.export.export`, whose weights it shares."""
    chosen = checked(dict(options))
    if not isinstance(program, torch.export.ExportedProgram):
        raise ArgumentError(f'sr.from_exported was given a {type(program).__name__}; expected a '
                            'torch.export.ExportedProgram.')
    try:
        with _quiet():
            text = _serialised(program)
    except Exception as error:
        raise UnsupportedOpError(f'PyTorch cannot serialise the exported program: {error}') from error
    given = program.constants | program.state_dict
    tensors = dict(tensor for name, value in given.items() for tensor in _plain_tensors(name, value))
    made = _C.prepare_program(text, tensors, of_module(chosen))
    call_spec = CallSpec(program.call_spec.in_spec, program.call_spec.out_spec, made.constants, _twins(program))
    return ExportedModule._nesting(made.prepared, call_spec, 'export', chosen)


def load(source: str | bytes | os.PathLike[str], *, map_weights: bool = False,
         **options: Unpack[Options]) -> StaticModule:
    """The model of an archive of `torch.export.save`: of its path or of its bytes.

    `map_weights` is described at `sr.load`.
    Types in arguments and results that are not Python's own have to be registered, as for `torch.export.load`.
    """
    chosen = checked(dict(options))
    if isinstance(source, bytes):
        made = _C.prepare_exported_bytes(source, of_module(chosen))
    else:
        made = _C.prepare_exported_file(os.fsencode(source), of_module(chosen), map_weights=map_weights)
    if not made.in_spec:
        return StaticModule._made(made.prepared, 'archive', chosen)
    try:
        in_spec, out_spec = pytree.treespec_loads(made.in_spec), pytree.treespec_loads(made.out_spec)
    except Exception as error:
        raise UnsupportedOpError('The types of the arguments or results of the exported program are not known here: '
                                 f'{error}') from error
    return ExportedModule._nesting(made.prepared, CallSpec(in_spec, out_spec, made.constants), 'archive', chosen)


def export(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.export.ExportedProgram:
    """Exports with as many dynamic sizes as the module allows, else with the sizes of the examples."""
    seen: set[int] = set()

    def apart(leaf: Any) -> Any:  # torch.export takes one tensor that is given twice for one argument
        if not isinstance(leaf, torch.Tensor) or id(leaf) not in seen:
            seen.add(id(leaf))
            return leaf
        return leaf.clone()

    args, kwargs = pytree.tree_map(apart, (args, kwargs))
    make_collection: Callable[[], Any] = torch.export.ShapesCollection
    shapes = make_collection()
    for leaf in {id(leaf): leaf for leaf in pytree.tree_leaves((args, kwargs))}.values():
        if isinstance(leaf, torch.Tensor):
            shapes[leaf] = [torch.export.Dim.AUTO] * leaf.dim()
    try:
        return torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
    except Exception:
        return torch.export.export(module, args, kwargs)
