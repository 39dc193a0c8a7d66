"""Powers with the exponents that ATen treats specially, of all dtypes and of the values where they differ."""

import pytest
import sr
import torch
from torch import nn

INFINITY = float('inf')
VALUES = [-INFINITY, -65504.0, -2.5, -1.0, -1e-4, -0.0, 0.0, 1e-4, 0.25, 1.0, 3.7, 1e4, INFINITY, float('nan')]
EXPONENTS = [0.5, -0.5, 2.0, 3.0, -1.0, -2.0, 1.0, 0.0, -0.0, 2, 3, -1, -2, 0, 1, 1.5, -1.5, 4, 0.3, INFINITY, -INFINITY, float('nan')]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.complex64]
ROUNDING = {torch.float16: 2e-3, torch.bfloat16: 2e-2}


class OfTensor(nn.Module):
    def __init__(self, exponent):
        super().__init__()
        self.exponent = exponent

    def forward(self, x: torch.Tensor):
        return x.pow(self.exponent)


class OfSum(OfTensor):
    """Fused with what comes before."""

    def forward(self, x: torch.Tensor):
        return (x + 0).pow(self.exponent)


class OfNumber(OfTensor):
    def forward(self, x: torch.Tensor):
        return torch.pow(self.exponent, x)


class OfTensors(OfTensor):
    def forward(self, x: torch.Tensor):
        return torch.pow(x, torch.full_like(x, self.exponent))


def outcome(call, x):
    try:
        return call(x)
    except (RuntimeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize('kind', [OfTensor, OfSum, OfNumber, OfTensors])
@pytest.mark.parametrize('dtype', DTYPES, ids=str)
def test_powers_are_eagers(kind, dtype):
    values = torch.tensor(VALUES, dtype=torch.float64)
    if not dtype.is_floating_point and not dtype.is_complex:
        values = values.nan_to_num(0, 9, -9).clamp(-9, 9)
    x = values.to(dtype)
    for exponent in EXPONENTS:
        model = kind(exponent)
        try:
            module = sr.StaticModule(torch.jit.script(model))
        except RuntimeError:
            continue  # not TorchScript
        expected = outcome(model, x)
        for _ in range(4):
            result = outcome(module, x)
            if isinstance(expected, type):
                assert isinstance(result, type), exponent
                continue
            assert result.dtype == expected.dtype
            torch.testing.assert_close(result, expected, rtol=ROUNDING.get(expected.dtype, 1e-5), atol=0, equal_nan=True,
                                       msg=lambda text: f'{exponent}: {text}')
            if expected.is_floating_point():
                known = ~expected.isnan()
                assert torch.equal(result[known].signbit(), expected[known].signbit()), exponent
