"""The result of a running call."""

import asyncio
import concurrent.futures
import functools
import weakref
from collections import deque
from collections.abc import Generator
from typing import Any

from . import _C


class _Arrivals:
    """Wakes the coroutines of one event loop that wait for calls, some at a time: the loop has other work between them.

    Any thread may call `add`. The loop is told once for all calls that end before it wakes coroutines.
    """

    _AT_ONCE = 8

    def __init__(self) -> None:
        self._ended: deque[asyncio.Future[None]] = deque()
        self._is_told = False

    def add(self, waiter: asyncio.Future[None], _: concurrent.futures.Future[Any]) -> None:
        self._ended.append(waiter)
        if not self._is_told:
            self._is_told = True
            try:
                waiter.get_loop().call_soon_threadsafe(self._wake_some, waiter.get_loop())
            except RuntimeError:  # the loop is closed, so no coroutine waits any more
                self._ended.clear()
                self._is_told = False

    def _wake_some(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(min(self._AT_ONCE, len(self._ended))):
            waiter = self._ended.popleft()
            if not waiter.done():
                waiter.set_result(None)
        self._is_told = False
        if self._ended:  # left over, or added before `_is_told` was false
            self._is_told = True
            loop.call_soon(self._wake_some, loop)


_arrivals: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Arrivals] = weakref.WeakKeyDictionary()


class Future(concurrent.futures.Future[Any]):
    """What `StaticModule.run_async` returns: `result(timeout=None)`, `done()`, `add_done_callback`, and `await`.

    `result` raises what the call raised, and TimeoutError when the call takes longer than `timeout` seconds.
    """

    _call: _C.RunningCall | None = None

    def cancel(self) -> bool:
        """Asks the call to end before its next operator, with CancelledError. False: it has ended already."""
        if self.done():
            return False
        if self._call is not None:
            self._call.stop()
        return True

    def __await__(self) -> Generator[Any, None, Any]:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        waiter.add_done_callback(self._stop_with)
        if self._call is not None:
            self._call.note_awaited()
        arrivals = _arrivals.get(loop) or _arrivals.setdefault(loop, _Arrivals())
        self.add_done_callback(functools.partial(arrivals.add, waiter))
        yield from waiter
        return self.result()

    def _stop_with(self, waiter: asyncio.Future[None]) -> None:
        if waiter.cancelled():
            self.cancel()

    def _tell(self, result: Any, error: BaseException | None) -> None:
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)
