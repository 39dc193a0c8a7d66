"""The result of a running call."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Generator
from typing import Any


class Future(concurrent.futures.Future[Any]):
    """What `StaticModule.run_async` returns: `result(timeout=None)`, `done()`, `add_done_callback`, and `await`.

    `result` raises what the call raised, and TimeoutError when the call takes longer than `timeout` seconds.
    """

    _stop: Callable[[], None] | None = None

    def cancel(self) -> bool:
        """Asks the call to end before its next operator, with CancelledError. False: it has ended already."""
        if self.done():
            return False
        if self._stop is not None:
            self._stop()
        return True

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()

    def _tell(self, result: Any, error: BaseException | None) -> None:
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)
