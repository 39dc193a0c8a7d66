"""A model made ready to run."""

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import torch
from torch.jit._trace import TopLevelTracedModule, TracedModule

from . import _C, _formats
from ._future import Future
from ._options import Options, checked, of_module, of_pool, of_restored
from ._report import Value
from ._stateful import Stateful
from .errors import ArgumentError


def _prepare(model: Any, options: _C.Options) -> tuple[_C.Prepared, str]:
    """What the model is run from, and what it was made by."""
    if isinstance(model, torch.jit.ScriptModule):
        traced = isinstance(model, TracedModule | TopLevelTracedModule)
        return _C.prepare_module(model._c, options), 'trace' if traced else 'script'
    if isinstance(model, torch._C.ScriptModule):
        return _C.prepare_module(model, options), 'script'
    if isinstance(model, torch.jit.ScriptFunction):
        return _C.prepare_function(model, options), 'script'
    if isinstance(model, torch._C.Graph):
        return _C.prepare_graph(model, options), 'graph'
    more = ' For a module that is not scripted there is sr.compile.' if isinstance(model, torch.nn.Module) else ''
    raise ArgumentError(f'sr.StaticModule was given a {type(model).__name__}; expected a scripted or traced module, '
                        f'a scripted function or a graph.{more}')


class StaticModule(Stateful):
    """Runs a scripted or traced module, a scripted function or a graph; any number of threads may call it at once.

    Calls are those of the model: by position, by keyword, with its defaults; tensors, numbers, strings, None, lists,
    tuples and dictionaries. Where a tensor is expected, NumPy arrays and anything with `__dlpack__` will do, and
    share their memory. Any shapes and dtypes that the model itself takes, on any call; tensors are on the CPU.
    Results are the interpreter's, as torch tensors. The GIL is released while the model runs.

    `out=` takes a tensor or array (or a list, tuple or dictionary of them, one for each tensor of the result) of the
    result's dtype and shape, writes into it and returns it. A model with an argument `out` of its own has `run_into`.

    Raises ArgumentError for arguments that do not fit, BusyError when no runtime comes free in time, and what
    operators raise. Construction raises ArgumentError and UnsupportedOpError. The model is not changed, and weights
    are shared with it: the next call uses the values they have then. `Options` lists the keywords.

    >>> import torch, sr
    >>> module = sr.compile(torch.nn.Linear(3, 2).eval())
    >>> module(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    >>> module(torch.zeros(3), out=torch.empty(2)).dtype
    torch.float32
    """

    __slots__ = ('__weakref__', '_chosen', '_frontend', '_methods', '_prepared')

    _chosen: dict[str, Any]
    _frontend: str
    _methods: dict[str, 'StaticModule']
    _prepared: _C.Prepared

    def __init__(self, model: Any, **options: Unpack[Options]) -> None:
        chosen = checked(dict(options))
        self._own(*_prepare(model, of_module(chosen)), chosen)

    def _own(self, prepared: _C.Prepared, frontend: str, chosen: dict[str, Any],
             call_spec: _C.CallSpec | None = None) -> None:
        try:
            self._begin(prepared, call_spec, **of_pool(chosen))
        except TypeError as error:
            raise error if isinstance(error, ArgumentError) else ArgumentError(
                f'An option has a value of the wrong type. {error}') from error
        self._prepared, self._frontend, self._chosen, self._methods = prepared, frontend, chosen, {}

    @classmethod
    def _made(cls, prepared: _C.Prepared, frontend: str, chosen: dict[str, Any]) -> Self:
        """For importers of other formats, too."""
        module = cls.__new__(cls)
        module._own(prepared, frontend, chosen)
        return module

    @property
    def frontend(self) -> str:
        """What the graph was made by: 'script', 'trace', 'export', 'graph', or 'archive' for a file."""
        return self._frontend

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        return dict(self._chosen)

    @property
    def graph(self) -> torch._C.Graph:
        """A copy of the graph that runs: frozen, and rewritten by sr's passes."""
        return self._prepared.graph()

    @property
    def inputs(self) -> list[Value]:
        """The arguments of a call, in order."""
        return [Value(*value) for value in self._prepared.inputs()]

    @property
    def outputs(self) -> list[Value]:
        """The results of a call."""
        values = [Value(*value) for value in self._prepared.outputs()]
        return [value._replace(name=value.name or f'output_{i}') for i, value in enumerate(values)]

    @property
    def __signature__(self) -> inspect.Signature:
        """What `inspect.signature` shows: names and defaults of the arguments."""
        return inspect.Signature([
            inspect.Parameter(value.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=value.type,
                              default=value.default if value.has_default else inspect.Parameter.empty)
            for value in self.inputs])

    def bind(self, *args: Any, out: Any = None, **kwargs: Any) -> _C.BoundCall:
        """A call that reads these tensors and writes into these buffers each time, whatever they hold then.

        For callers that fill the same tensors again and again: a call compares no arguments and makes no results.
        Without `out` the results' tensors are made. Calls return `out`, or else the tensor of the result, or a tuple
        of its tensors. A call belongs to one thread at a time, and its buffers may be read until the next one.

        Raises what a call raises, and ArgumentError if the model returns no tensor. Leaves the state of the model as it is.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> x, y = torch.tensor([-1., 1.]), torch.empty(2)
        >>> call = module.bind(x, out=y)
        >>> x += 1
        >>> call()
        tensor([0., 2.])
        """
        return self._bind(args, kwargs, out)

    def run_async(self, *args: Any, **kwargs: Any) -> Future:
        """Calls on a thread of torch's inter-op pool. Arguments as for a call; buffers as `out=` are not taken.

        Raises ArgumentError at once; BusyError and what the model raises are in the future.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> module.run_async(torch.tensor([-1., 1.])).result(timeout=10)
        tensor([0., 1.])
        """
        future = Future()
        future.set_running_or_notify_cancel()
        future._call = self._start(args, kwargs, future._tell)
        return future

    def runAsync(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.futures.Future[Any]:
        """As upstream's method of this name: a torch.Future, whose `wait` returns the result."""
        return self._run_async(tuple(args), dict(kwargs))

    def clone(self) -> Self:
        """The same model with its own runtimes and, if it writes buffers or attributes, its own copy of their values.

        Weights are shared. Raises BusyError if the model writes buffers or attributes and a call of it is running.
        """
        return self._made(self._prepared.clone(), self._frontend, self._chosen)

    def reserve(self, *args: Any, runtimes: int = 1, **kwargs: Any) -> None:
        """Prepares `runtimes` runtimes for calls with arguments like these: plans memory and records a plan.

        Leaves the state of the model as it is.
        """
        self._reserve(args, kwargs, runtimes)

    def refresh_weights(self) -> None:
        """Makes the next calls, and those of clones, read all weights of the model anew.

        Only for writes that torch does not count: to `p.data`, or through NumPy arrays that share the memory. Others
        are seen by the next call.

        >>> import torch, sr
        >>> linear = torch.nn.Linear(1, 1, bias=False)
        >>> module = sr.compile(linear)
        >>> linear.weight.numpy(force=True)[:] = 3
        >>> module.refresh_weights()
        >>> module(torch.ones(1))
        tensor([3.])
        """
        self._prepared.refresh_weights()

    def update(self, state_dict: Mapping[str, torch.Tensor], strict: bool = True) -> None:
        """Replaces weights by copies of the tensors, while any number of threads may call.

        A call that runs keeps the old weights, all calls that begin later use the new ones, and no call uses some of
        both; clones follow. Names are those of the model's own `state_dict`, and sizes those of the weights; dtypes
        are converted. The module then no longer follows the model that it was made of. `strict=False` replaces the
        given weights only. A module that `sr.load` read needs the option `updatable_weights`.

        Raises ArgumentError, and leaves all weights as they were, for another model's names or sizes, if a parameter
        is missing (buffers may be), and if the weights were folded when the module was made.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.Linear(1, 1))
        >>> module.update({'weight': torch.tensor([[2.]]), 'bias': torch.tensor([1.])})
        >>> module(torch.ones(1))
        tensor([3.])
        """
        self._prepared.update(dict(state_dict), strict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as a TorchScript file, for `sr.load`, the tool `sr` and `torch.jit.load`.

        A program of torch.export takes its arguments flat then, as from C++. Raises ArgumentError for a module whose
        weights were replaced by `update`.

        >>> import io, os, tempfile, torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save(os.path.join(folder, 'relu.pt'))
        ...     sr.load(os.path.join(folder, 'relu.pt'))(torch.tensor([-1., 1.]))
        tensor([0., 1.])
        """
        self._require_own_weights('save')
        with open(path, 'wb') as file:
            file.write(self._prepared.torchscript())

    def _require_own_weights(self, verb: str) -> None:
        if self._prepared.replaced_weights():
            raise ArgumentError(f'The weights of this module were replaced by update(), and {verb} takes those it was '
                                'made of. Load them into the model, and make the module anew.')

    # What sr.quantize asks of modules whose calls are nested in another way.

    def _prepared_anew(self, prepared: _C.Prepared, chosen: dict[str, Any]) -> 'StaticModule':
        return self._made(prepared, self._frontend, chosen)

    def __repr__(self) -> str:
        def listed(values: list[Value]) -> str:
            return ', '.join(f'{value.name}: {value.type}' for value in values)

        return (f"sr.StaticModule({listed(self.inputs)}) -> ({listed(self.outputs)}), frontend '{self.frontend}', "
                f"planner '{of_pool(self._chosen)['planner']}'")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._report(repr(self))[1]

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        state = self._prepared.format, self._prepared.archive(), self._frontend, self._chosen
        return _restored, (type(self), *state, self._prepared.replaced_weights(), self._state())


_C.share_vectorcall(StaticModule)


def _restored(cls: type[StaticModule], form: str, archive: bytes, frontend: str, chosen: dict[str, Any],
              replaced: dict[str, torch.Tensor], state: dict[str, Any]) -> StaticModule:
    module = cls._made(_formats.prepare(form, archive, of_restored(chosen, replaced)), frontend, chosen)
    if replaced:
        module.update(replaced, strict=False)
    module._load(state, True)
    return module
