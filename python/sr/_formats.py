"""Archives by format: the functions that read the bytes of a pickled module."""

import importlib
from typing import Any

from . import _C
from .errors import UnsupportedOpError


def exported() -> Any:
    """The module sr.exported, which itself needs sr.StaticModule."""
    return importlib.import_module('sr.exported')


def prepare(form: str, archive: bytes, options: _C.Options) -> _C.Prepared:
    if form == 'torchscript':
        return _C.prepare_bytes(archive, options)
    if form == 'exported':
        prepared: _C.Prepared = exported().prepare_bytes(archive, options)
        return prepared
    raise UnsupportedOpError(f"This copy of sr can not read archives of the format '{form}'.")
