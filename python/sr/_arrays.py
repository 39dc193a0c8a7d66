"""Arrays of other libraries as tensors on the same memory."""

import sys
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from .errors import ArgumentError


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get('numpy')  # an array exists only if it was imported
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def _tensor_of_numpy(array: Any) -> torch.Tensor:
    # torch supports neither read-only memory nor negative strides: such arrays are copied.
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    return torch.from_numpy(array) if array.ndim else torch.as_tensor(array)


def _tensor_of(value: Any) -> torch.Tensor:
    try:
        return _tensor_of_numpy(value) if _is_numpy(value) else from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ArgumentError(f'A {type(value).__name__} was given that torch cannot share: {error}') from error


def with_tensors(value: Any) -> Any:
    """`value` with each array in it converted to a tensor; values without arrays are returned unchanged."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, list):
        return [with_tensors(item) for item in value]
    if isinstance(value, tuple):
        items = [with_tensors(item) for item in value]
        return type(value)(*items) if hasattr(value, '_fields') else tuple(items)
    if isinstance(value, dict):
        return {key: with_tensors(item) for key, item in value.items()}
    return _tensor_of(value) if _is_numpy(value) or hasattr(value, '__dlpack__') else value


def buffer(value: Any) -> torch.Tensor:
    """An array to write into. Raises ArgumentError if a write would go to a copy."""
    if _is_numpy(value) and value.flags.writeable and value.ndim and all(stride >= 0 for stride in value.strides):
        return _tensor_of(value)
    if not _is_numpy(value) and hasattr(value, '__dlpack__'):
        return _tensor_of(value)
    raise ArgumentError(f'Results cannot be written into a {type(value).__name__}; expected tensors or writable '
                        'arrays, one for each tensor of the result, or lists, tuples and dictionaries of them.')
