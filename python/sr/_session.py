"""Sessions: streams of calls of models that keep state between calls."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from . import _C
from ._carried import Carried
from ._future import Future

if TYPE_CHECKING:
    from ._module import StaticModule


class Session(_C.Caller):
    """One stream of calls of a model that writes buffers or assigns attributes. `module.session()` returns one.

    A session is called with the arguments of the module. Any number of sessions share the weights, plans and runtimes
    of a module, and different sessions may run concurrently on any threads. One session runs one call at a time: a
    concurrent call raises BusyError. The state shares no memory with arguments, results or weights. If a call raises,
    the state does not change. To guarantee this, sr copies at most 64 KiB per call. If a call overwrites more and then
    raises, the session raises StateError until `reset` or `load`.

    `copy.copy`, `copy.deepcopy` and `pickle` copy the state, too.
    """

    __slots__ = ('__weakref__', '_carried', '_module')

    _module: 'StaticModule'
    _carried: Carried | None

    @classmethod
    def _of(cls, module: 'StaticModule', carried: Carried | None = None) -> Self:
        session = cls.__new__(cls)
        session._begin_session(module, None if carried is None else carried.results,
                               None if carried is None else carried.call_spec)
        session._module, session._carried = module, carried
        return session

    @property
    def module(self) -> 'StaticModule':
        """The module whose weights and plans the session uses."""
        return self._module

    def run_async(self, *args: Any, **kwargs: Any) -> Future:
        """Calls on a thread of torch's inter-op pool, and reserves the session until the future is complete.

        Raises ArgumentError, BusyError and StateError immediately. The future has what the model raises.
        """
        future = Future()
        future.set_running_or_notify_cancel()
        future._call = self._start(args, kwargs, future._tell)
        return future

    def bind(self, *args: Any, out: Any = None, **kwargs: Any) -> _C.BoundCall:
        """Does what `StaticModule.bind` does. Each call of the bound call advances the session; binding does not.

        Raises ArgumentError for a session that carries arguments.
        """
        return self._bind(args, kwargs, out)

    @property
    def methods(self) -> list[str]:
        """Names of the methods that `method` takes."""
        return self._module.methods

    def method(self, name: str) -> Self:
        """The session as one that runs another method of a TorchScript module, on the same state.

        `session.reset_states()` is short for `session.method('reset_states')()`, unless sessions have that name
        themselves. Raises what `StaticModule.method` raises.
        """
        session = self.__new__(type(self))
        module = self._module.method(name)
        session._begin_method(self, module, name)
        session._module, session._carried = module, None
        return session

    def reset(self) -> None:
        """Sets the state to that of a new session."""
        self._reset()

    def state(self) -> dict[str, Any]:
        """Returns copies of all variables by name. Empty if the model has no state."""
        return self._state() if self._carried is None else self._carried.nested(self._state())

    def load(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Copies the values into the session.

        strict: raise if a name of `state()` is missing. Otherwise variables that are not given keep their values.

        Raises ArgumentError, and does not change the state, for an unknown or missing name, for a value of another type,
        and for other sizes or another dtype of a tensor that the model writes in place.
        """
        self._load(dict(state) if self._carried is None else self._carried.flat(state), strict)

    def clone(self) -> Self:
        """Returns a new session with a copy of the current state."""
        session = self.__new__(type(self))
        session._begin_session(self, None, None)
        session._module, session._carried = self._module, self._carried
        return session

    if not TYPE_CHECKING:  # type checkers would accept every name
        def __getattr__(self, name: str) -> Any:
            return method_named(self, name)

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        carried = None if self._carried is None else self._carried.state
        return _restored, (type(self), self._module, self.state(), carried)

    def __repr__(self) -> str:
        return f'sr.Session of {self._module!r}'


_C.share_vectorcall(Session)


def method_named(owner: Any, name: str) -> Any:
    """For an attribute that the session or module does not have: the method of the model with this name."""
    if name.startswith('_') or name not in owner.methods:
        raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'", name=name, obj=owner)
    return owner.method(name)


def _restored(cls: type[Session], module: 'StaticModule', state: dict[str, Any],
              carried: dict[str, int | str] | None) -> Session:
    session = cls._of(module, None if carried is None else module._carrying(carried))
    session.load(state, strict=carried is None)  # a carried argument may have no value yet
    return session
