"""Archives by format: who reads the bytes that a pickled module holds. And the importer of torch.export's programs,
which a copy of sr may be without.
"""

import importlib
import importlib.util
from typing import Any

from . import _C
from .errors import UnsupportedOpError


def exported() -> Any:
    """The module sr.exported. Raises UnsupportedOpError where there is none."""
    if importlib.util.find_spec('sr.exported') is None:
        raise UnsupportedOpError('This copy of sr can not import programs of torch.export. Script or trace the module '
                                 "(sr.compile(..., frontend='trace')).")
    return importlib.import_module('sr.exported')


def prepare(form: str, archive: bytes, options: _C.Options) -> _C.Prepared:
    if form == 'torchscript':
        return _C.prepare_bytes(archive, options)
    if form == 'exported':
        prepared: _C.Prepared = exported().prepare_bytes(archive, options)
        return prepared
    raise UnsupportedOpError(f"This copy of sr can not read archives of the format '{form}'.")
