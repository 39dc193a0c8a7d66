"""Archives by format: which format a file has, and the functions that read the bytes of a pickled module."""

import io
import os
import zipfile

from . import _C
from .errors import UnsupportedOpError


def is_exported(source: str | bytes | os.PathLike[str]) -> bool:
    """True if torch.export.save wrote this file or these bytes. False for damaged archives."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            names = archive.namelist()
    except Exception:  # of several types, depending on the damage
        return False
    return any(name.partition('/')[2].startswith('models/') or name.endswith('serialized_exported_program.json')
               for name in names)


def prepare(form: str, archive: bytes, options: _C.Options) -> _C.Prepared:
    if form == 'torchscript':
        return _C.prepare_bytes(archive, options)
    if form == 'exported':
        return _C.prepare_pickled_program(archive, options).prepared
    raise UnsupportedOpError(f"This copy of sr cannot read archives of the format '{form}'.")
