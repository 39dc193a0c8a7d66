"""What modules count of their calls, and how Prometheus reads it."""

import json
import pathlib
import re
import threading

import prometheus_client
import pytest
import torch

import modules
import sr
import sr.metrics

X = torch.randn(4)


@pytest.fixture
def module():
    return sr.compile(torch.nn.ReLU())


def samples(models):
    registry = prometheus_client.CollectorRegistry()
    registry.register(sr.metrics.Collector(models))
    text = prometheus_client.generate_latest(registry).decode()
    lines = [line.rpartition(' ') for line in text.splitlines() if not line.startswith('#')]
    return {name: float(value) for name, _, value in lines}


def test_calls_are_counted(module):
    assert module.metrics()['calls'] == 0
    for _ in range(500):
        module(X)
    for _ in range(3):
        with pytest.raises(Exception, match='int'):
            module(7)
    metrics = module.metrics()
    assert metrics['calls'] in (500, 503)  # what does not fit is refused before it is a call
    assert metrics['replayed'] > 490 and metrics['cancelled'] == metrics['busy'] == 0
    latency = metrics['latency']
    assert 436 < latency['count'] <= 500 and sum(latency['buckets'].values()) == latency['count']
    assert 0 < latency['p50'] <= latency['p90'] <= latency['p99'] <= latency['p999'] < 1
    assert 'not replayed' in repr(metrics) and isinstance(metrics, sr.Metrics)


def test_calls_of_all_threads_are_counted(module):
    threads = [threading.Thread(target=lambda: [module(X) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert module.metrics()['calls'] == 800
    module.trim()
    assert module.metrics()['calls'] == 800


def test_failures_are_counted():
    module = sr.compile(modules.ScriptedBranch())
    for _ in range(5):
        with pytest.raises(Exception):
            module(torch.zeros(2, dtype=torch.bool).to_sparse())
    assert module.metrics()['failed'] == 5


def test_prometheus_reads_modules(module):
    for _ in range(100):
        module(X)
    found = samples({'relu': module})
    assert found['sr_calls_total{model="relu",outcome="ok"}'] == 100
    assert found['sr_calls_total{model="relu",outcome="error"}'] == 0
    assert found['sr_replayed_calls_total{model="relu"}'] > 90
    assert found['sr_runtimes{model="relu"}'] == 1
    buckets = [value for name, value in found.items() if name.startswith('sr_call_seconds_bucket')]
    assert buckets == sorted(buckets) and buckets[-1] == found['sr_call_seconds_count{model="relu"}'] > 36
    assert found['sr_call_seconds_sum{model="relu"}'] > 0
    assert any(name.startswith('sr_general_calls_total') for name in found)


def test_prometheus_reads_batchers(module):
    batcher = sr.Batcher(module, max_rows=8)
    for rows in 1, 2, 5:
        batcher(torch.randn(rows))
    found = samples({'relu': batcher})
    assert found['sr_batches_total{model="relu"}'] == 3
    assert found['sr_batch_rows_sum{model="relu"}'] == 8
    assert found['sr_batch_rows_bucket{le="2.0",model="relu"}'] == 2
    assert found['sr_batch_requests_total{model="relu",outcome="ok"}'] == 3
    assert found['sr_batch_waiting{model="relu"}'] == 0
    assert found['sr_calls_total{model="relu",outcome="ok"}'] >= 3


def test_the_dashboard_asks_for_what_there_is(module):
    module(X)
    batcher = sr.Batcher(module)
    batcher(X)
    there_are = {name.partition('{')[0] for name in samples({'relu': batcher})}
    dashboard = json.loads((pathlib.Path(__file__).parents[3] / 'docs/guide/grafana.json').read_text())
    asked = {name for panel in dashboard['panels'] for target in panel['targets']
             for name in re.findall(r'sr_\w+', target['expr'])}
    assert len(asked) >= 10 and asked <= there_are
