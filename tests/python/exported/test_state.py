"""Programs that write buffers and arguments: every call, and what is left after it, are the eager model's."""

import copy
import io
import pickle

import pytest
import sr
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('count', torch.zeros(2))

    def forward(self, x):
        self.count.view(2).add_(1)
        return x + self.count, self.count


class Cache(nn.Module):
    """Keeps the rows of earlier calls, as attention in a decoder does."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(3, 3)
        self.register_buffer('rows', torch.zeros(8, 3))
        self.register_buffer('used', torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.rows.index_copy_(0, self.used, self.project(x).unsqueeze(0))
        self.used.copy_((self.used + 1) % 8)
        return torch.softmax(self.rows @ x, 0) @ self.rows


class MovingAverage(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.register_buffer('mean', torch.zeros(3), persistent=False)

    def forward(self, x):
        before = self.inner.mean.clone()
        self.inner.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return torch.cond(self.inner.mean.sum() > 0, lambda v, b: v - b, lambda v, b: v + b, (x, before))


class WritesToItsArgument(nn.Module):
    def forward(self, x):
        x[0] = 1
        x.mul_(2)
        return x + 1


class KeepsStatistics(nn.Module):
    """In training: the norm writes its buffers although no schema says so."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x), self.norm.running_var + 0, self.norm.num_batches_tracked * 2


class Layer:
    """A layer of a cache, as transformers has them: an object whose tensors are no buffers."""

    def __init__(self):
        self.keys = torch.zeros(8, 3)
        self.length = torch.zeros(1, dtype=torch.int64)


class WritesToLiftedTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        self.layer.keys.index_copy_(0, self.layer.length % 8, x.unsqueeze(0))
        self.layer.length.add_(1)
        return torch.softmax(self.layer.keys @ x, 0) @ self.layer.keys


CASES = {Counter: (2,), Cache: (3,), MovingAverage: (4, 3), WritesToItsArgument: (4,), KeepsStatistics: (4, 3),
         WritesToLiftedTensors: (3,)}


@pytest.mark.parametrize('form', ['memory', 'archive', 'decomposed', 'pickle'])
@pytest.mark.parametrize('model', CASES, ids=lambda model: model.__name__)
@torch.no_grad()
def test_calls_and_what_they_leave(model, form):
    torch.manual_seed(5)
    eager = model().train(model is KeepsStatistics)
    program = torch.export.export(copy.deepcopy(eager), (torch.randn(CASES[model]),))
    before = {name: value.clone() for name, value in program.state_dict.items()}
    if form == 'decomposed':
        if model is WritesToLiftedTensors:
            pytest.skip('torch refuses to decompose such a program')
        program = program.run_decompositions()
    if form == 'archive':
        file = io.BytesIO()
        torch.export.save(program, file)
        module = sr.load(file.getvalue())
    else:
        module = sr.from_exported(program)
    if form == 'pickle':
        module = pickle.loads(pickle.dumps(module))
    for _ in range(12):
        x = torch.randn(CASES[model])
        same = x.clone()
        expected, given = eager(x), module(same)
        torch.testing.assert_close(given, expected)
        assert torch.equal(x, same)
    for name, value in program.state_dict.items():  # the caller's
        assert torch.equal(value, before[name])


def test_each_module_has_its_own_state():
    program = torch.export.export(Counter().eval(), (torch.zeros(2),))
    first, second = sr.from_exported(program), sr.from_exported(program)
    for calls in range(1, 4):
        assert torch.equal(first(torch.zeros(2))[0], torch.full((2,), float(calls)))
    assert torch.equal(second(torch.zeros(2))[0], torch.ones(2))


def test_a_call_that_fails_leaves_the_state_as_it_was():
    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('calls', torch.zeros(()))

        def forward(self, x):
            self.calls.add_(1)
            torch._check(x.sum().item() > 0)
            return x * self.calls

    module = sr.from_exported(torch.export.export(Checked().eval(), (torch.ones(2),)))
    for calls in (1.0, 2.0, 3.0):
        assert torch.equal(module(torch.ones(2)), torch.full((2,), calls))
        with pytest.raises(sr.Error):
            module(-torch.ones(2))
