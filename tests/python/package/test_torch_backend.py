"""torch.compile with sr as its backend."""

import logging

import pytest
import torch

import sr


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def test_torch_compile_runs_in_sr(caplog):
    network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 2)).eval()
    compiled = torch.compile(network, backend=sr.torch_backend)
    with torch.no_grad(), caplog.at_level(logging.WARNING, 'sr'):
        for rows in 3, 3, 5, 7:
            x = torch.randn(rows, 8)
            torch.testing.assert_close(compiled(x), network(x))
        network[0].weight.mul_(2)  # weights are followed
        torch.testing.assert_close(compiled(x), network(x))
    assert caplog.text == ''


def test_the_pieces_of_a_broken_graph_run_in_sr():
    def broken(x):
        y = torch.relu(x) * 2
        if y.sum() > 1:
            return torch.exp(-y), y
        return torch.log1p(y), y

    compiled = torch.compile(broken, backend=sr.torch_backend)
    with torch.no_grad():
        for x in torch.full((4,), 3.0), torch.zeros(4):
            for ours, eager in zip(compiled(x), broken(x), strict=True):
                torch.testing.assert_close(ours, eager)


def test_with_gradients_a_graph_runs_in_eager_mode(caplog):
    network = torch.nn.Linear(8, 2)
    with caplog.at_level(logging.WARNING, 'sr'):
        torch.compile(network, backend=sr.torch_backend)(torch.randn(3, 8)).sum().backward()
    assert network.weight.grad is not None and 'no_grad' in caplog.text
