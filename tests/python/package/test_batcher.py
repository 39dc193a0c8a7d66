"""Requests of many callers in batches: threads, asyncio, exported programs, errors."""

import asyncio
import threading

import pytest
import sr
import torch
from torch import nn


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval().requires_grad_(False)


def test_threads(network):
    module = sr.compile(network)
    batcher = sr.Batcher(module, max_rows=16, max_wait=0.001)
    requests = [torch.randn(1 + i % 3, 8) for i in range(200)]
    results = [None] * len(requests)

    def caller(first):
        for i in range(first, len(requests), 8):
            results[i] = batcher(requests[i])

    threads = [threading.Thread(target=caller, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for request, result in zip(requests, results):
        torch.testing.assert_close(result, network(request))
    report = batcher.report()
    assert report.requests == 200 and report.failed == report.refused == report.cancelled == 0
    assert report.batches < report.requests
    assert report.rows == sum(len(request) for request in requests)
    assert sum(report.batches_by_rows.values()) == report.batches


def test_asyncio(network):
    batcher = sr.Batcher(sr.compile(network), max_wait=0.005)
    requests = [torch.randn(1, 8) for _ in range(50)]

    async def client():
        return await asyncio.gather(*(batcher.submit(request) for request in requests))

    for request, result in zip(requests, asyncio.run(client())):
        torch.testing.assert_close(result, network(request))
    assert batcher.report().batches < 50


class Ragged(nn.Module):
    """Sentences with a mask; arguments and results are nested."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 4)

    def forward(self, inputs: dict[str, torch.Tensor]):
        x = self.embedding(inputs['ids']) * inputs['mask'].unsqueeze(2)
        return {'tokens': x, 'mean': x.sum(1) / inputs['mask'].sum(1, keepdim=True)}


def test_exported_sequences():
    model = Ragged().eval().requires_grad_(False)
    batch, length = torch.export.Dim('batch', min=1, max=64), torch.export.Dim('length', min=2, max=32)

    def request(rows, size):
        return {'ids': torch.randint(0, 20, (rows, size)), 'mask': torch.ones(rows, size)}

    sizes = {0: batch, 1: length}
    program = torch.export.export(model, (request(3, 5),), dynamic_shapes={'inputs': {'ids': sizes, 'mask': sizes}})
    module = sr.from_exported(program)
    names = [value.name for value in module.inputs]
    batcher = sr.Batcher(module, max_wait=0.05, max_running=1, padded_result_dim=1,
                         padding={name: (1, 0) for name in names})
    requests = [request(1 + i % 2, 3 + i % 5) for i in range(12)]
    futures = [batcher.submit(one) for one in requests]
    for one, future in zip(requests, futures):
        torch.testing.assert_close(future.result(timeout=60), model(one))
    assert batcher.report().batches < 12


class Table(nn.Module):
    """Rows lie along the second dimension."""

    def forward(self, table, x):
        return table @ x


def test_dimensions_of_an_exported_program():
    table = torch.randn(4, 3)
    batch = torch.export.Dim('batch', min=1, max=64)
    program = torch.export.export(Table().eval(), (table, torch.randn(3, 5)), dynamic_shapes=(None, {1: batch}))
    batcher = sr.Batcher(sr.from_exported(program), max_wait=0.05, max_running=1)
    requests = [torch.randn(3, 1 + i % 3) for i in range(6)]
    futures = [batcher.submit(table, request) for request in requests]
    for request, future in zip(requests, futures):
        torch.testing.assert_close(future.result(timeout=60), table @ request)
    assert batcher.report().batches < 6


def test_a_bad_request_fails_alone():
    table = nn.Embedding(10, 3)
    batcher = sr.Batcher(sr.compile(table), max_wait=0.1, max_running=1)
    futures = [batcher.submit(torch.full((2,), index)) for index in (1, 99, 3)]
    assert futures[0].result(timeout=60).shape == (2, 3)
    with pytest.raises(IndexError):
        futures[1].result(timeout=60)
    assert futures[2].result(timeout=60).shape == (2, 3)
    with pytest.raises(sr.ArgumentError):
        batcher()
    assert batcher.report().failed == 1


def test_limits(network):
    module = sr.compile(network)
    batcher = sr.Batcher(module, max_wait=5.0, max_waiting=2, max_rows=64)
    futures = [batcher.submit(torch.randn(1, 8)) for _ in range(2)]
    with pytest.raises(sr.BusyError, match='max_waiting'):
        batcher.submit(torch.randn(1, 8))
    assert batcher.report().refused == 1
    del batcher  # does not wait for max_wait
    for future in futures:
        assert future.result(timeout=60).shape == (1, 3)
    waiting = sr.Batcher(module, max_wait=30.0)
    with pytest.raises(sr.CancelledError):
        waiting(torch.randn(1, 8), timeout=0.02)
    future = waiting.submit(torch.randn(1, 8))
    future.cancel()
    del waiting
    with pytest.raises(sr.CancelledError):
        future.result(timeout=60)


@pytest.mark.parametrize('options, words', [
    ({'max_rows': 0}, 'max_rows'), ({'dim': -2}, 'dim'), ({'shared': ['nothing']}, "names 'nothing'"),
    ({'padding': {'nothing': (1, 0)}}, "names 'nothing'"), ({'max_waiting': 0}, 'max_waiting'),
    ({'padded_result_dim': 1}, 'padded_result_dim')])
def test_options(network, options, words):
    with pytest.raises(sr.ArgumentError, match=words):
        sr.Batcher(sr.compile(network), **options)


def test_not_a_module(network):
    with pytest.raises(sr.ArgumentError, match='StaticModule'):
        sr.Batcher(network)


def test_batches_have_no_more_rows_than_the_program_takes(network):
    batch = torch.export.Dim('batch', min=1, max=6)
    module = sr.from_exported(torch.export.export(network, (torch.randn(2, 8),), dynamic_shapes=({0: batch},)))
    batcher = sr.Batcher(module, max_wait=0.05, max_running=1)
    requests = [torch.randn(1, 8) for _ in range(40)]
    for future, request in zip([batcher.submit(request) for request in requests], requests, strict=True):
        torch.testing.assert_close(future.result(timeout=60), network(request))
    report = batcher.report()
    assert report.divided == 0 and report.failed == 0 and report.batches < 40 and max(report.batches_by_rows) <= 8
    with pytest.raises(sr.ArgumentError, match='equal_rows'):
        sr.Batcher(module, equal_rows=True)
