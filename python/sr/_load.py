"""A model from a file."""

import os
from typing import IO, Unpack

from . import _C, _formats
from ._module import StaticModule
from ._options import Options, checked, of_module
from .errors import ArgumentError, LoadError


def load(source: str | bytes | bytearray | memoryview | os.PathLike[str] | IO[bytes], *,
         map_weights: bool = False, **options: Unpack[Options]) -> StaticModule:
    """The model of a file written by `torch.jit.save` or `torch.export.save`: its path, its bytes, or a binary file.

    Every byte is verified against the checksums of the archive. Raises LoadError for what is missing, damaged or
    something else, and what the constructor of `StaticModule` raises. A program of torch.export takes its arguments
    and gives its result nested as they were when it was exported, and sizes within those it was exported for.

    map_weights: True leaves the weights in the file, whose pages all processes that map it share. The file must not
    change while the module lives, or results are wrong and the process may be killed: replace it by renaming another one
    (`os.replace`).

    >>> import io, torch, sr
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(torch.nn.ReLU()), file)
    >>> sr.load(file.getvalue(), planner='greedy_by_size')(torch.tensor([-2., 2.]))
    tensor([0., 2.])
    """
    chosen = checked(dict(options))
    if isinstance(source, str | os.PathLike):
        content: bytes | str | os.PathLike[str] = source
    elif isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    elif hasattr(source, 'read'):
        content = source.read()
        if not isinstance(content, bytes):
            raise LoadError(f'The file gave {type(content).__name__}; expected bytes. Open it in binary mode.')
    else:
        raise ArgumentError(f'sr.load was given a {type(source).__name__}; expected a path, bytes or a binary file.')
    if map_weights and isinstance(content, bytes):
        raise ArgumentError('sr.load was asked to map weights; that needs the path of a file.')
    if _formats.is_exported(content):
        from . import exported  # imports torch.export

        return exported.load(content, map_weights=map_weights, **options)
    if isinstance(content, bytes):
        return StaticModule._made(_C.prepare_bytes(content, of_module(chosen)), 'archive', chosen)
    return StaticModule._made(_C.prepare_file(os.fsencode(content), of_module(chosen), map_weights=map_weights), 'archive', chosen)
