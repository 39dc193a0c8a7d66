"""Scripted modules that call others through an interface."""

import pytest
import sr
import torch
from torch import nn


@torch.jit.interface
class Block(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


class Nested(nn.Module):
    block: Block

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.block = Scale()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(self.block.forward(x)))


class Net(nn.Module):
    block: Block

    def __init__(self):
        super().__init__()
        self.block = Nested()
        self.last = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.block.forward(x))


class Forking(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        later = torch.jit.fork(self.block.forward, x)
        return self.last(x) + torch.jit.wait(later)


class Switching(nn.Module):
    block: Block
    first: Block
    second: Block

    def __init__(self):
        super().__init__()
        self.first, self.second = Scale(), Nested()
        self.block = self.first

    def forward(self, x: torch.Tensor, takes_second: bool) -> torch.Tensor:
        if takes_second:
            self.block = self.second
        else:
            self.block = self.first
        return self.block.forward(x)


class SwitchingFork(Switching):
    def forward(self, x: torch.Tensor, takes_second: bool) -> torch.Tensor:
        if takes_second:
            self.block = self.second
        else:
            self.block = self.first
        return torch.jit.wait(torch.jit.fork(self.block.forward, x))


@pytest.mark.parametrize('options', [{}, {'enable_replay': False}, {'freeze_weights': True}])
def test_results_are_those_of_the_model(options):
    net, x = torch.jit.script(Net().eval()), torch.rand(3, 8)
    module = sr.StaticModule(net, **options)
    for _ in range(4):
        torch.testing.assert_close(module(x), net(x).detach())


def test_calls_through_an_interface_are_replayed_by_kernels():
    net, x = torch.jit.script(Net().eval()), torch.rand(3, 8)
    module = sr.StaticModule(net)
    for _ in range(4):
        module(x)
    [plan] = module.report()['plans']
    assert plan['replays'] > 0
    assert plan['interpreted'] == 0


@pytest.mark.parametrize('kind', [Net, Forking])
@pytest.mark.parametrize('replays', [True, False])
def test_weights_behind_an_interface_are_followed(kind, replays):
    net, x = torch.jit.script(kind().eval()), torch.rand(3, 8)
    module = sr.StaticModule(net, enable_replay=replays)
    for _ in range(3):
        for _ in range(4):
            torch.testing.assert_close(module(x), net(x).detach())
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.mul_(1.5)


@pytest.mark.parametrize('kind', [Switching, SwitchingFork])
def test_an_interface_that_the_model_assigns_to_is_called_as_it_is_then(kind):
    net, x = torch.jit.script(kind().eval()), torch.rand(3, 8)
    module = sr.StaticModule(net)
    for takes_second in (True, False, False, True, True, False, True):
        torch.testing.assert_close(module(x, takes_second), net(x, takes_second).detach())
