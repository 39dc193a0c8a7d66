"""What differs between two results, in words."""

import math
from typing import Any

import torch

# Relative and absolute, those of torch.testing.assert_close.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7), torch.complex32: (1e-3, 1e-5), torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
ARITHMETIC = {*TOLERANCES, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


def difference(expected: Any, actual: Any, close: bool = False, values: bool = True, path: str = 'result') -> str:
    """Empty when equal: dtype, layout, sizes, strides that are read, and values (NaN to NaN); else what differs first.

    `close`: values within TOLERANCES. Not `values`: those of uninitialised memory, which are not looked at.
    """
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        found = tensor_difference(expected, actual, close, values)
        return f'{path}: {found}' if found else ''
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if isinstance(expected, list) != isinstance(actual, list):
            return f'{path}: expected a {type(expected).__name__}, got a {type(actual).__name__}'
        if len(expected) != len(actual):
            return f'{path}: expected {len(expected)} elements, got {len(actual)}'
        pairs = [(f'{path}.{i}', a, b) for i, (a, b) in enumerate(zip(expected, actual))]
    elif isinstance(expected, dict) and isinstance(actual, dict):
        if list(expected) != list(actual):
            return f'{path}: expected the keys {list(expected)}, got {list(actual)}'
        pairs = [(f'{path}.{key}', expected[key], actual[key]) for key in expected]
    else:
        return '' if same_scalar(expected, actual, close, values) else f'{path}: expected {expected!r}, got {actual!r}'
    return next(filter(None, (difference(a, b, close, values, where) for where, a, b in pairs)), '')


def same_scalar(expected: Any, actual: Any, close: bool, values: bool) -> bool:
    if type(expected) is not type(actual):
        return False
    if not values or expected == actual:
        return True
    if isinstance(expected, float):
        both_nan = math.isnan(expected) and math.isnan(actual)
        rtol, atol = TOLERANCES[torch.float32]
        return both_nan or (close and math.isclose(expected, actual, rel_tol=rtol, abs_tol=atol))
    if isinstance(expected, complex):
        return (same_scalar(expected.real, actual.real, close, values) and
                same_scalar(expected.imag, actual.imag, close, values))
    return False


def described(tensor: torch.Tensor) -> str:
    name = f'{str(tensor.dtype).removeprefix("torch.")}{list(tensor.shape)}'
    return f'{name} strides {list(tensor.stride())}' if tensor.layout == torch.strided else f'{name} {tensor.layout}'


def read_strides(tensor: torch.Tensor) -> list[int]:
    """Of the dims that have a second element, when there are elements."""
    if not tensor.numel():
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1]


def tensor_difference(expected: torch.Tensor, actual: torch.Tensor, close: bool, values: bool) -> str:
    for what in ('dtype', 'shape', 'layout', 'is_quantized'):
        if getattr(expected, what) != getattr(actual, what):
            return f'{what}: expected {described(expected)}, got {described(actual)}'
    if expected.layout != torch.strided:
        return tensor_difference(expected.to_dense(), actual.to_dense(), close, values)
    if expected.is_quantized:
        return tensor_difference(expected.dequantize(), actual.dequantize(), close, values)
    if read_strides(expected) != read_strides(actual):
        return f'strides: expected {described(expected)}, got {described(actual)}'
    if expected.is_conj() != actual.is_conj() or expected.is_neg() != actual.is_neg():
        return 'the conjugate or the negative bit'
    if not values or expected.numel() == 0:
        return ''
    expected, actual = comparable(expected), comparable(actual)
    return '' if torch.equal(expected, actual) else value_difference(expected, actual, close)


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype == torch.complex32:
        return torch.view_as_real(tensor)
    # Without arithmetic: floats of eight bits, integers of fewer, and unsigned ones of more.
    return tensor if tensor.dtype in ARITHMETIC else tensor.contiguous().flatten().view(torch.uint8)


def value_difference(expected: torch.Tensor, actual: torch.Tensor, close: bool) -> str:
    if close and expected.dtype in TOLERANCES:
        rtol, atol = TOLERANCES[expected.dtype]
        # In double, where neither the difference of half floats nor their tolerance is rounded.
        wide = torch.complex128 if expected.is_complex() else torch.float64
        same = torch.isclose(actual.to(wide), expected.to(wide), rtol, atol, equal_nan=True)
    else:
        same = (expected == actual) | ((expected != expected) & (actual != actual))
    wrong = (~same).nonzero()
    if len(wrong) == 0:
        return ''
    first = tuple(wrong[0].tolist())
    return (f'{len(wrong)} of {expected.numel()} values of {described(expected)}, the first at {list(first)}: '
            f'expected {expected[first].item()!r}, got {actual[first].item()!r}')
