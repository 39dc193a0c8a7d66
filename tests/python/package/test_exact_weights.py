"""Under numerics='exact', products have the bits of the interpreter, which asks whether a weight requires a gradient."""

import io

import pytest
import sr
import torch
from torch import nn


class Linear(nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.linear = nn.Linear(64, 48, bias=bias)

    def forward(self, x: torch.Tensor):
        return self.linear(x.transpose(0, 1))


class Product(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(sizes))

    def forward(self, x: torch.Tensor):
        return x.transpose(0, 1) @ self.weight


class LeftProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(7, 3))

    def forward(self, x: torch.Tensor):
        return self.weight @ x.transpose(0, 1)


class Recurrent(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor):
        return self.network(x.transpose(0, 1))


MODELS = {
    'linear': Linear, 'without bias': lambda: Linear(False), 'matrix': lambda: Product(64, 48), 'vector': lambda: Product(64),
    'left': LeftProduct,
    **{f'{kind.__name__} {options}': lambda kind=kind, options=options: Recurrent(kind(64, 48, **options))
       for kind in (nn.GRU, nn.LSTM, nn.RNN) for options in ({}, {'batch_first': True}, {'bidirectional': True}, {'bias': False})},
}


@pytest.mark.parametrize('name', MODELS)
@pytest.mark.parametrize('trains', [False, True])
def test_bits_are_the_interpreters(name, trains):
    script = torch.jit.script(MODELS[name]().eval().requires_grad_(trains))
    file = io.BytesIO()
    torch.jit.save(script, file)
    modules = [sr.StaticModule(script, numerics='exact'), sr.StaticModule(script, numerics='exact', enable_replay=False),
               sr.load(file.getvalue(), numerics='exact'), sr.StaticModule(script, numerics='exact', freeze_weights=True)]
    with torch.no_grad():
        for sizes in [(3, 5, 64), (3, 5, 64), (3, 5, 64), (1, 1, 64), (7, 3, 64)]:
            x = torch.randn(sizes) if name != 'left' else torch.randn(3, sizes[1], 64)
            expected = torch.utils._pytree.tree_leaves(script(x))
            for module in modules:
                for ours, theirs in zip(torch.utils._pytree.tree_leaves(module(x)), expected, strict=True):
                    assert torch.equal(ours, theirs) and ours.stride() == theirs.stride()
                    assert not ours.requires_grad
