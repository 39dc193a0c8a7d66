"""Spans of requests to a batcher."""

import sys

import pytest
import sr
import torch
from torch import nn

trace = pytest.importorskip('opentelemetry.trace')
sdk = pytest.importorskip('opentelemetry.sdk.trace')
export = pytest.importorskip('opentelemetry.sdk.trace.export')
in_memory = pytest.importorskip('opentelemetry.sdk.trace.export.in_memory_span_exporter')
sampling = pytest.importorskip('opentelemetry.sdk.trace.sampling')


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()


@pytest.fixture
def spans(monkeypatch):
    return provide(monkeypatch, sdk.TracerProvider())


def provide(monkeypatch, provider):
    exporter = in_memory.InMemorySpanExporter()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, 'get_tracer', provider.get_tracer)
    return exporter


def children(all_spans, parent):
    return [span for span in all_spans if span.parent is not None and span.parent.span_id == parent.context.span_id]


def named(all_spans, name):
    return [span for span in all_spans if span.name == name]


def check_nesting(all_spans):
    by_id = {span.context.span_id: span for span in all_spans}
    for span in all_spans:
        assert span.start_time <= span.end_time
        if span.parent is not None and (parent := by_id.get(span.parent.span_id)):
            slack = 2_000_000  # two clocks, read one after the other
            assert parent.start_time - slack <= span.start_time and span.end_time <= parent.end_time + slack, span.name


def test_a_request_and_its_batch(network, spans):
    batcher = sr.Batcher(sr.compile(network), tracing='steps')
    tracer = trace.get_tracer('service')
    for _ in range(4):  # recorded on the way
        batcher(torch.randn(2, 8))
    spans.clear()
    with tracer.start_as_current_span('handler'):
        batcher(torch.randn(2, 8))
    finished = spans.get_finished_spans()
    check_nesting(finished)
    handler, = named(finished, 'handler')
    request, = children(finished, handler)
    assert request.name == 'sr.request'
    batch, = [span for span in children(finished, request) if span.name == 'sr.batch']
    assert dict(batch.attributes) == {'sr.requests': 1, 'sr.rows': 2, 'sr.path': 'replay'}
    steps = [span.name for span in children(finished, batch)]
    assert len(steps) == 2 and all(step.startswith('sr: packed gemm: ') for step in steps), steps


def test_requests_of_one_batch(network, spans):
    batcher = sr.Batcher(sr.compile(network), max_wait=0.1, max_running=1, tracing=True)
    futures = [batcher.submit(torch.randn(1, 8)) for _ in range(5)]
    for future in futures:
        future.result(timeout=60)
    finished = spans.get_finished_spans()
    check_nesting(finished)
    assert len(named(finished, 'sr.request')) == 5
    batches = named(finished, 'sr.batch')
    assert len(batches) == 5 and sum(1 / span.attributes['sr.requests'] for span in batches) < 5
    assert sum(span.end_time - span.start_time for span in named(finished, 'sr.queue')) > 50_000_000
    assert {span.attributes['sr.path'] for span in batches} <= {'general', 'recording', 'replay'}
    assert not [span for span in finished if span.name.startswith('sr: ')]


def test_a_request_that_fails(spans):
    batcher = sr.Batcher(sr.compile(nn.Embedding(10, 3)), tracing=True)
    for call in batcher, lambda index: batcher.submit(index).result(timeout=60):
        with pytest.raises(IndexError):
            call(torch.tensor([99]))
        request, = named(spans.get_finished_spans(), 'sr.request')
        assert not request.status.is_ok and request.events[0].name == 'exception'
        spans.clear()


def test_nothing_is_traced_where_no_span_is_recorded(network, monkeypatch):
    exporter = provide(monkeypatch, sdk.TracerProvider(sampler=sampling.ALWAYS_OFF))
    batcher = sr.Batcher(sr.compile(network), tracing='steps')
    batcher(torch.randn(2, 8))
    assert batcher.submit(torch.randn(2, 8)).result(timeout=60).shape == (2, 3)
    assert not exporter.get_finished_spans()


def test_what_is_missing_is_said(network, monkeypatch):
    module = sr.compile(network)
    with pytest.raises(sr.ArgumentError, match="tracing.*'all'"):
        sr.Batcher(module, tracing='all')
    monkeypatch.setitem(sys.modules, 'opentelemetry', None)
    with pytest.raises(sr.ArgumentError, match='pip install opentelemetry-api'):
        sr.Batcher(module, tracing=True)
