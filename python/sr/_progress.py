"""What takes long, for a person who waits."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

_BEFORE_FIRST, _BETWEEN = 1.0, 0.5  # seconds


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Shows `what` and its seconds in a line of stderr, where that is a terminal, until the block ends."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def show() -> None:
        wait = _BEFORE_FIRST
        while not ended.wait(wait):
            stream.write(f'\r\x1b[K{what}, {time.monotonic() - begin:.0f} s')
            stream.flush()
            wait = _BETWEEN
        if wait == _BETWEEN:
            stream.write('\r\x1b[K')
            stream.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
