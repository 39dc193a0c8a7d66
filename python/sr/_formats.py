"""Archives by format: who reads the bytes that a pickled module holds."""

from . import _C
from .errors import UnsupportedOpError


def prepare(form: str, archive: bytes, options: _C.Options) -> _C.Prepared:
    if form == 'torchscript':
        return _C.prepare_bytes(archive, options)
    if form == 'exported':
        try:
            from . import exported
        except ImportError:
            pass
        else:
            return exported.prepare_bytes(archive, options)
    raise UnsupportedOpError(f"This copy of sr can not read archives of the format '{form}'.")
