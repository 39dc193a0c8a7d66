"""The part of a module that concerns models which keep state between calls."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from . import _C
from ._carried import Carried, of_flat_call
from ._measured import Measured
from ._session import Session, method_named

if TYPE_CHECKING:
    from ._module import StaticModule


class Stateful(Measured):
    """The part of StaticModule that makes sessions and runs methods on the state of the model."""

    __slots__ = ()

    @property
    def _whole(self) -> 'StaticModule':
        return cast('StaticModule', self)

    def session(self, *, state: Mapping[str, int | str] | None = None) -> Session:
        """Returns a session: one stream of calls of a model that writes buffers or assigns attributes.

        The session begins with the values that the model had when the module was made. It shares weights, plans and
        runtimes with the module and its other sessions.

        state: for a model that takes its state as arguments and returns the new state. By name of such an argument: the
        position of the result (or its key, if the model returns a dictionary) that is its value in the next call. Calls of
        the session give only the other arguments, and return only the other results; one that is left is returned by
        itself. An argument without a default needs a first value: `session.load({'h': ...})`.

        Raises ArgumentError if there is no such argument or result, and if the model keeps state itself.

        >>> import torch, sr
        >>> class Sum(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.register_buffer('total', torch.zeros(1))
        ...     def forward(self, x):
        ...         self.total += x
        ...         return self.total * 1
        >>> module = sr.StaticModule(torch.jit.script(Sum()))
        >>> first, second = module.session(), module.session()
        >>> first(torch.ones(1)), first(torch.ones(1)), second(torch.ones(1))
        (tensor([1.]), tensor([2.]), tensor([1.]))

        >>> @torch.jit.script
        ... def count(x: torch.Tensor, n: int = 0) -> tuple[torch.Tensor, int]:
        ...     return x * n, n + 1
        >>> session = sr.StaticModule(count).session(state={'n': 1})
        >>> session(torch.ones(1)), session(torch.ones(1))
        (tensor([0.]), tensor([1.]))
        """
        return Session._of(self._whole, None if state is None else self._carrying(state))

    def _carrying(self, state: Mapping[str, int | str]) -> Carried:
        return of_flat_call(state)

    def run_sessions(self, sessions: Sequence[Session], inputs: Sequence[Any], *, dim: int | None = None,
                     shared: Sequence[int] = (), state_dims: Mapping[str, int] | None = None, max_rows: int = 64,
                     equal_rows: bool = False) -> list[Any]:
        """Calls each session with its inputs and returns the results in order. Joins calls where it can.

        `inputs` has the argument of each call, or a tuple of its arguments. Calls whose arguments and states differ only
        in the number of rows are joined into one: it gathers the rows of the states, and scatters the new ones. The model
        must compute each row independently of the others. Other calls run separately, and so do the calls of a joined
        call that raises. If a call raises, the others still run, and then the first exception is raised.

        dim: dimension of the rows in arguments and results. Default: the first dimension that an export left open, or 0.
        shared: positions of arguments without rows.
        state_dims: dimension of the rows in variables and carried arguments, by name. Default: `dim`.
        max_rows: rows of one joined call, at most.
        equal_rows: make the results of a session bit-identical whatever other sessions are in the call.

        Raises ArgumentError if a session is given twice, belongs to another module or carries other arguments, BusyError before any call runs if a
        session is in use, and what calls raise.
        """
        given = [values if isinstance(values, tuple) else (values,) for values in inputs]
        dims = dict(state_dims or {})
        carried = sessions[0]._carried if sessions and isinstance(sessions[0], Session) else None
        return _C.run_sessions(list(sessions), given, dim=-1 if dim is None else dim, shared=list(shared),
                               state_dims=dims if carried is None else carried.flat_dims(dims), max_rows=max_rows,
                               equal_rows=equal_rows)

    @property
    def methods(self) -> list[str]:
        """Names of the methods of a TorchScript module, besides `forward`, that can run on its state."""
        return self._whole._prepared.methods()

    def method(self, name: str) -> 'StaticModule':
        """The method as a module, whose calls read and write the state of this one. Prepared when first asked for.

        `module.reset_states()` is short for `module.method('reset_states')()`, unless this class has that name
        itself. Raises ArgumentError if there is no such method, and UnsupportedOpError if sr cannot run it, or if it
        writes attributes that `forward` does not write.
        """
        module = self._whole
        if name not in module._methods:
            made = module._made(module._prepared.method(name), module._frontend, module._chosen)
            module._methods.setdefault(name, made)
        return module._methods[name]

    if not TYPE_CHECKING:  # type checkers would accept every name
        def __getattr__(self, name: str) -> Any:
            return method_named(self, name)
