"""Makes a module of sr from an nn.Module, by the first front end that accepts it."""

import inspect
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import torch
from torch.jit._trace import TracerWarning
from torch.utils import _pytree as pytree

from ._module import StaticModule
from ._options import Options, checked
from ._progress import shown
from .errors import ArgumentError, UnsupportedOpError

_log = logging.getLogger('sr')

_Examples = tuple[tuple[Any, ...], dict[str, Any]]


class _NeedsExamples(ArgumentError):
    """Raised by a front end that needs examples of arguments. The next front end is tried."""


def _script(module: torch.nn.Module, examples: _Examples | None, options: Any) -> StaticModule:
    return StaticModule(torch.jit.script(module), **options)


def _trace(module: torch.nn.Module, examples: _Examples | None, options: Any) -> StaticModule:
    if examples is None:
        raise _NeedsExamples('tracing needs example_args or example_kwargs')
    args, kwargs = examples
    if kwargs:  # torch.jit.trace accepts only one of them
        named = dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
        traced = torch.jit.trace(module, example_kwarg_inputs=named, strict=False)  # type: ignore[no-untyped-call]
    else:
        traced = torch.jit.trace(module, args, strict=False)  # type: ignore[no-untyped-call]
    return StaticModule(traced, **options)


def _export(module: torch.nn.Module, examples: _Examples | None, options: Any) -> StaticModule:
    if examples is None:
        raise _NeedsExamples('exporting needs example_args or example_kwargs')
    from . import exported  # imports torch.export

    return exported.from_exported(exported.export(module, *examples), **options)


_FRONTENDS: dict[str, Callable[[torch.nn.Module, _Examples | None, Any], StaticModule]] = {
    'export': _export,
    'script': _script,
    'trace': _trace,
}

_DOING = {'export': 'exporting', 'script': 'scripting', 'trace': 'tracing'}


def _quietly(frontend: str, module: torch.nn.Module, examples: _Examples | None, options: Any,
             *, chosen: bool) -> StaticModule:
    with warnings.catch_warnings(record=not chosen) as heard:
        # Hides the deprecation of torch.jit, which users did not ask for: its replacement is one of the front ends.
        warnings.filterwarnings('ignore', r'`torch\.jit', DeprecationWarning)
        if not chosen:
            warnings.filterwarnings('always', category=TracerWarning)
        with shown(f'sr.compile: {_DOING[frontend]} the {type(module).__name__}'):
            made = _FRONTENDS[frontend](module, examples, options)
    for warning in heard or ():
        if issubclass(warning.category, TracerWarning):  # such a trace is used only on request
            raise UnsupportedOpError(f'The trace may be wrong for other inputs. {warning.message}')
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return made


def _order(examples: _Examples | None) -> list[str]:
    """The front ends to try. An exported program cannot leave open a size that is 0 or 1 in the examples."""
    sizes = [size for leaf in pytree.tree_leaves(examples) if isinstance(leaf, torch.Tensor) for size in leaf.shape]
    first = 'script' if min(sizes, default=2) < 2 else 'export'
    return sorted(_FRONTENDS, key=lambda name: name != first)


def _warn_of_training(module: torch.nn.Module) -> None:
    differing = torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase
    for name, layer in module.named_modules():
        if layer.training and isinstance(layer, differing):
            warnings.warn(f'The layer {name!r} ({type(layer).__name__}) is in training mode, and sr does in each call '
                          'what it does in training. Call module.eval() before sr.compile.', stacklevel=3)
            return


def compile(module: torch.nn.Module, example_args: Sequence[Any] | torch.Tensor | None = None,
            example_kwargs: Mapping[str, Any] | None = None, *, frontend: str | None = None,
            **options: Unpack[Options]) -> StaticModule:
    """Makes a module ready: exports it with the examples, else scripts it, else traces it with them.

    The attribute `frontend` of the result, its `repr` and its report say which; the logger 'sr' says why one was left
    out. `frontend='export'`, 'script' or 'trace' takes just that one, and raises what it raises. Without examples a
    module is scripted. Call `module.eval()` before: what the module does in training, it does here too.

    Examples are arguments of a call. An exported program takes calls that are nested as they are, with their numbers
    and strings, and with the sizes that the module allows. It cannot leave open a size that is 0 or 1 in the examples,
    so with such examples a module is scripted if it can be. A scripted one takes whatever its code takes.

    Raises UnsupportedOpError with the reason of each front end when none takes the module, and ArgumentError for
    options there are not.

    >>> import torch, sr
    >>> sr.compile(torch.nn.Softmax(dim=1))
    sr.StaticModule(input: Tensor) -> (output_0: Tensor), frontend 'script', planner 'linear_scan'
    >>> sr.compile(torch.nn.Softmax(dim=1), (torch.zeros(2, 3),)).frontend
    'export'
    """
    checked(dict(options))
    if isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        return StaticModule(module, **options)
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f'sr.compile was given a {type(module).__name__}; expected a torch.nn.Module.')
    _warn_of_training(module)
    if isinstance(example_args, torch.Tensor):
        example_args = example_args,  # one argument, like torch.jit.trace, not one a row
    given = example_args is not None or example_kwargs is not None
    examples = (tuple(example_args or ()), dict(example_kwargs or {})) if given else None
    if frontend is not None:
        if frontend not in _FRONTENDS:
            raise ArgumentError(f"There is no front end {frontend!r}; there are {', '.join(_FRONTENDS)}.")
        return _quietly(frontend, module, examples, options, chosen=True)
    reasons = []
    for name in _order(examples):
        try:
            return _quietly(name, module, examples, options, chosen=False)
        except Exception as error:
            if isinstance(error, ArgumentError) and not isinstance(error, _NeedsExamples):
                raise  # a wrong option is wrong for every front end
            reasons.append(f'{name}: {error}')
            _log.info('sr.compile: %s does not take this %s: %s', name, type(module).__name__, error)
    raise UnsupportedOpError(f'No front end takes this {type(module).__name__}.\n' + '\n'.join(reasons))


def from_exported(program: Any, **options: Unpack[Options]) -> StaticModule:
    """The module of a program of `torch.export.export`. Raises UnsupportedOpError for what cannot be imported."""
    from . import exported  # imports torch.export

    return exported.from_exported(program, **options)
