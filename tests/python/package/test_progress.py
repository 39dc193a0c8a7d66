"""What takes long is shown where stderr is a terminal, and nowhere else."""

import io
import time

import pytest
from sr import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(_progress, '_BEFORE_FIRST', 0.01)
    monkeypatch.setattr(_progress, '_BETWEEN', 0.011)


def test_a_line_that_is_removed(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr('sys.stderr', terminal)
    with _progress.shown('exporting'):
        time.sleep(0.2)
    written = terminal.getvalue()
    assert '\r\x1b[Kexporting, 0 s' in written and written.endswith('\r\x1b[K')


def test_nothing_of_what_is_short_or_goes_to_a_file(monkeypatch):
    monkeypatch.setattr(_progress, '_BEFORE_FIRST', 60.0)
    for stream in Terminal(), io.StringIO():
        monkeypatch.setattr('sys.stderr', stream)
        with pytest.raises(ValueError), _progress.shown('exporting'):
            raise ValueError
        assert stream.getvalue() == ''
    monkeypatch.setattr('sys.stderr', None)
    with _progress.shown('exporting'):
        pass
