"""Exported programs in which data decide sizes: padding masks, and jagged features."""

import numpy as np
import pytest
import torch
from torch.export import Dim

import sr

FEATURES, ROWS = 5, 3


class Jagged(torch.nn.Module):
    """What torchrec's EmbeddingBagCollection does with a KeyedJaggedTensor, when it is exported."""

    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(50, 8, mode='sum' if i % 2 else 'mean', include_last_offset=True)
            for i in range(FEATURES))
        self.over = torch.nn.Linear(FEATURES * 8, 4)

    def forward(self, values, lengths):
        per_feature = lengths.view(FEATURES, ROWS)
        counts = per_feature.sum(1).tolist()
        for count in counts:
            torch._check(count >= 0)
            torch._check(count <= values.size(0))
        torch._check(sum(counts) == values.size(0))
        parts = values.split(counts)
        offsets = torch.nn.functional.pad(per_feature.cumsum(1), (1, 0))
        bags = [table(part, offset) for table, part, offset in zip(self.tables, parts, offsets)]
        return torch.relu(self.over(torch.cat(bags, 1)))


def batch(lengths):
    lengths = torch.as_tensor(lengths)
    return torch.randint(0, 50, (int(lengths.sum()),)), lengths


@pytest.fixture(scope='module')
def jagged():
    torch.manual_seed(0)
    model = Jagged().eval()
    given = batch([2, 1, 3] * FEATURES)
    program = torch.export.export(model, given, dynamic_shapes={'values': {0: Dim('n', min=0)}, 'lengths': None})
    return model, program


def test_jagged_features_of_any_lengths_have_one_plan(jagged):
    model, program = jagged
    module = sr.from_exported(program)
    lengths = np.random.default_rng(0).zipf(1.6, (200, FEATURES * ROWS)) - 1
    for each in np.minimum(lengths, 30):
        given = batch(each)
        torch.testing.assert_close(module(*given), model(*given))
    report = module.report()
    assert len(report['plans']) == 1
    assert report['plans'][0]['interpreted'] == 0
    assert report['replayed_calls'] >= 195


@pytest.mark.parametrize('change', [1, -1])
def test_wrong_lengths_are_refused_by_the_assertions_of_the_program(jagged, change):
    _, program = jagged
    module = sr.from_exported(program)
    values, lengths = batch([2, 1, 3] * FEATURES)
    for _ in range(4):
        module(values, lengths)
        wrong = lengths.clone()
        wrong[-1] += change
        with pytest.raises((RuntimeError, sr.Error), match='Runtime assertion failed|split'):
            module(values, wrong)
        wrong = lengths.clone()
        wrong[0], wrong[3] = -9, lengths[3] + 11
        with pytest.raises((RuntimeError, sr.Error), match='Runtime assertion failed|split'):
            module(values, wrong)


class PaddingMask(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x, lengths):
        longest = int(lengths.max().item())
        torch._check(longest == x.size(1))
        mask = torch.arange(longest)[None].expand(x.size(0), longest) >= lengths[:, None]
        return torch.tanh(self.linear(x)).masked_fill(mask[:, :, None], 0.0)


def test_a_padding_mask_of_any_length_has_one_plan():
    model = PaddingMask().eval()
    scripted = sr.compile(torch.jit.script(model))
    for length in list(range(2, 30)) * 2:
        lengths = torch.randint(1, length + 1, (3,))
        lengths[0] = length
        x = torch.randn(3, length, 6)
        torch.testing.assert_close(scripted(x, lengths), model(x, lengths))
    report = scripted.report()
    assert report['replayed_calls'] >= 50
    assert [block['name'].startswith('what follows') for block in report['decided_blocks']] == [True]
    assert len(report['decided_blocks'][0]['plans']) <= 2
