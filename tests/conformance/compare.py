"""What differs between two results, in words."""

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Rules:
    """What counts. Values are equal, NaN to NaN; `close`: within TOLERANCES, in which the largest value of a result
    counts too, for sums are rounded relative to their terms. Those of uninitialised memory are not looked at."""

    close: bool = False
    values: bool = True
    strides: bool = True  # those that are read

    def but(self, **changes: bool) -> 'Rules':
        return dataclasses.replace(self, **changes)


def difference(expected: Any, actual: Any, rules: Rules = Rules(), path: str = 'result') -> str:
    """Empty when equal: dtype, layout, sizes, strides and values; else what differs first."""
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        found = tensor_difference(expected, actual, rules)
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
        return '' if same_scalar(expected, actual, rules) else f'{path}: expected {expected!r}, got {actual!r}'
    return next(filter(None, (difference(a, b, rules, where) for where, a, b in pairs)), '')


def same_scalar(expected: Any, actual: Any, rules: Rules) -> bool:
    if type(expected) is not type(actual):
        return False
    if not rules.values or expected == actual:
        return True
    if isinstance(expected, float):
        both_nan = math.isnan(expected) and math.isnan(actual)
        rtol, atol = TOLERANCES[torch.float32]
        return both_nan or (rules.close and math.isclose(expected, actual, rel_tol=rtol, abs_tol=atol))
    if isinstance(expected, complex):
        return same_scalar(expected.real, actual.real, rules) and same_scalar(expected.imag, actual.imag, rules)
    return False


def described(tensor: torch.Tensor) -> str:
    name = f'{str(tensor.dtype).removeprefix("torch.")}{list(tensor.shape)}'
    return f'{name} strides {list(tensor.stride())}' if tensor.layout == torch.strided else f'{name} {tensor.layout}'


def read_strides(tensor: torch.Tensor) -> list[int]:
    """Of the dims that have a second element, when there are elements."""
    if not tensor.numel():
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1]


def tensor_difference(expected: torch.Tensor, actual: torch.Tensor, rules: Rules) -> str:
    for what in ('dtype', 'shape', 'layout', 'is_quantized'):
        if getattr(expected, what) != getattr(actual, what):
            return f'{what}: expected {described(expected)}, got {described(actual)}'
    if expected.layout != torch.strided:
        return tensor_difference(expected.to_dense(), actual.to_dense(), rules)
    if expected.is_quantized:
        return tensor_difference(expected.dequantize(), actual.dequantize(), rules)
    if rules.strides and read_strides(expected) != read_strides(actual):
        return f'strides: expected {described(expected)}, got {described(actual)}'
    if expected.is_conj() != actual.is_conj() or expected.is_neg() != actual.is_neg():
        return 'the conjugate or the negative bit'
    if not rules.values or expected.numel() == 0:
        return ''
    expected, actual = comparable(expected), comparable(actual)
    return '' if torch.equal(expected, actual) else value_difference(expected, actual, rules.close)


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
        expected_wide = expected.to(wide)
        largest = expected_wide.abs().nan_to_num(0, 0, 0).max().item()
        same = torch.isclose(actual.to(wide), expected_wide, rtol, atol + rtol * largest, equal_nan=True)
    else:
        same = (expected == actual) | ((expected != expected) & (actual != actual))
    wrong = (~same).nonzero()
    if len(wrong) == 0:
        return ''
    first = tuple(wrong[0].tolist())
    return (f'{len(wrong)} of {expected.numel()} values of {described(expected)}, the first at {list(first)}: '
            f'expected {expected[first].item()!r}, got {actual[first].item()!r}')
