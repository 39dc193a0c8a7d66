"""Sizes that torch.export was told vary are symbols from the first recording on."""

import pytest
import torch
from torch.export import Dim

import sr


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)

    def forward(self, x, y):
        return torch.softmax(self.layer(x), 1), x.sum(0), y * 2


@pytest.fixture(scope='module')
def exported():
    batch, length = Dim('batch', min=3, max=64), Dim('length')
    return torch.export.export(Scores().eval(), (torch.randn(5, 8), torch.randn(5, 7)),
                               dynamic_shapes={'x': {0: batch}, 'y': {0: batch, 1: length}})


def inputs(batch, length):
    return torch.randn(batch, 8), torch.randn(batch, length)


def test_one_recording_serves_all_sizes(exported):
    module = sr.from_exported(exported)
    module.reserve(*inputs(6, 9))
    plan, = module.report()['plans']
    assert plan['arguments'] == 'Float[s0, 8], Float[s0, s1]'
    assert any(condition.startswith('3 <= s0 <= 64') for condition in plan['conditions'])
    for sizes in ((3, 9), (64, 2), (17, 300), (6, 6), (7, 8)):
        given = inputs(*sizes)
        torch.testing.assert_close(module(*given), exported.module()(*given))
    report = module.report()
    assert report['recorded_plans'] == 1 and report['replayed_calls'] >= 5
    for sizes in ((2, 9), (65, 9)):
        with pytest.raises(sr.ArgumentError, match='outside of what was exported'):
            module(*inputs(*sizes))


def test_sizes_of_one_name_stay_equal(exported):
    module = sr.from_exported(exported)
    module.reserve(*inputs(6, 6))
    with pytest.raises(sr.ArgumentError, match='outside of what was exported'):
        module(torch.randn(6, 8), torch.randn(7, 6))
    given = inputs(9, 1)  # sizes 0 and 1 are no symbols
    torch.testing.assert_close(module(*given), exported.module()(*given))


def test_transposed_arguments(exported):
    module = sr.from_exported(exported)
    for sizes in ((6, 9), (6, 9), (12, 5), (4, 4)):
        given = tuple(x.t().contiguous().t() for x in inputs(*sizes))
        torch.testing.assert_close(module(*given), exported.module()(*given))


def test_families_can_be_switched_off(exported):
    module = sr.from_exported(exported, enable_families=False)
    module.reserve(*inputs(6, 9))
    plan, = module.report()['plans']
    assert plan['arguments'] == 'Float[6, 8], Float[6, 9]' and plan['conditions'] == []
