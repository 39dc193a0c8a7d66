"""Streams of calls with a state of their own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from . import _C
from ._future import Future

if TYPE_CHECKING:
    from ._module import StaticModule


class Session(_C.Caller):
    """A stream of calls of a model that writes or assigns its buffers or attributes; `module.session()` makes it.

    Called as the module is. Any number of sessions share the weights, plans and runtimes of a module, may be called at
    once from any threads, and end when nothing holds them any more. One session answers one call at a time: a call
    during another one raises BusyError. The state shares no memory with arguments, results or weights. If a call
    raises, the state is as it was before; if keeping it would have copied more than 64 KiB a call, the session raises
    StateError until `reset` or `load`.

    `copy`, `deepcopy` and `pickle` take the state along.
    """

    __slots__ = ('__weakref__', '_module')

    _module: 'StaticModule'

    @classmethod
    def _of(cls, module: 'StaticModule', copied: Self | None = None) -> Self:
        session = cls.__new__(cls)
        session._begin_session(module if copied is None else copied)
        session._module = module
        return session

    @property
    def module(self) -> 'StaticModule':
        """The module that it is a session of."""
        return self._module

    def run_async(self, *args: Any, **kwargs: Any) -> Future:
        """Calls on a thread of torch's inter-op pool. The session is in use until the future is complete.

        Raises ArgumentError, BusyError and StateError at once; what the model raises is in the future.
        """
        future = Future()
        future.set_running_or_notify_cancel()
        future._stop = self._start(args, kwargs, future._tell)
        return future

    def reset(self) -> None:
        """Makes the state what it is in a new session."""
        self._reset()

    def state(self) -> dict[str, Any]:
        """Copies of all that calls may write or assign, by name."""
        return self._state()

    def load(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Copies the values into the session. `strict=False` leaves those as they are that are not given.

        Raises ArgumentError, and leaves the state as it was, for a name that `state()` does not have, for a value of
        another type, for other sizes or another dtype of a tensor that the model writes in place, and for a name that is
        missing.
        """
        self._load(dict(state), strict)

    def clone(self) -> Self:
        """Another session, whose state begins as that of this one is now."""
        return self._of(self._module, self)

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._module, self.state())

    def __repr__(self) -> str:
        return f'sr.Session of {self._module!r}'


_C.share_vectorcall(Session)


def _restored(cls: type[Session], module: 'StaticModule', state: dict[str, Any]) -> Session:
    session = cls._of(module)
    session.load(state)
    return session
