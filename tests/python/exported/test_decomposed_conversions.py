"""Conversions of decomposed programs, `aten._to_copy`: as `to` and `clone`, in a plan for all sizes."""

import pytest
import sr
import torch


class Converted(torch.nn.Module):
    def __init__(self, convert):
        super().__init__()
        self.convert = convert

    def forward(self, x):
        return self.convert(x * 2)


CONVERSIONS = {
    'double': lambda x: x.to(torch.float64),
    'half': lambda x: x.half() + 1,
    'bfloat16': lambda x: x.bfloat16(),
    'int64': lambda x: x.long() + 1,
    'int8': lambda x: torch.clamp(x, -100, 100).to(torch.int8),
    'bool': lambda x: x.to(torch.bool),
    'a copy': lambda x: x.to(torch.float32, copy=True) + x,
    'a device': lambda x: x.to('cpu', torch.float64),
    'there and back': lambda x: x.double().float() * 3,
    'a result as it is': lambda x: (x, x.to(torch.float32, copy=True)),
}


@pytest.mark.parametrize('name', CONVERSIONS)
def test_conversions(name):
    model = Converted(CONVERSIONS[name]).eval()
    program = torch.export.export(model, (torch.randn(5, 8),), dynamic_shapes=({0: torch.export.Dim('rows', max=99)},))
    decomposed = program.run_decompositions()
    module = sr.from_exported(decomposed)
    for rows in (5, 5, 5, 2, 30, 0, 7):
        x = torch.randn(rows, 8) * 50
        expected, result = program.module()(x), module(x)
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
        if isinstance(result, tuple):
            assert result[0].data_ptr() != result[1].data_ptr() or rows == 0
    report = module.report()
    assert report['replayed_calls'] > 0
    for plan in report['plans']:
        assert plan['interpreted'] == 0, plan['steps']
