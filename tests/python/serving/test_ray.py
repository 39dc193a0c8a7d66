"""A deployment of Ray Serve on a cluster of several nodes on this machine, which loses a replica and a node.

Runs in its own environment (.venv-ray), where `./dev test` has made one.
"""

import concurrent.futures
import os
import pathlib
import signal
import sys
import threading
import time

import pytest

ray = pytest.importorskip('ray')
import sr.serving.ray
import torch
from ray import serve
from ray.cluster_utils import Cluster
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / 'examples/serving'))
import router

WIDTH = 8


def network(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, 2)).eval().requires_grad_(False)


def saved(model: nn.Module, path: pathlib.Path) -> pathlib.Path:
    batch = torch.export.Dim('batch', min=1, max=64)
    torch.export.save(torch.export.export(model, (torch.randn(3, WIDTH),), dynamic_shapes=({0: batch},)), str(path))
    return path


@pytest.fixture(scope='module')
def cluster():
    # Where the replicas of the cluster find sr.
    made = Cluster(initialize_head=True, head_node_args={'num_cpus': 2, 'object_store_memory': 80 << 20})
    made.other = made.add_node(num_cpus=2, object_store_memory=80 << 20)
    ray.init(address=made.address, logging_level='error', log_to_driver=False)
    yield made
    serve.shutdown()
    ray.shutdown()
    made.shutdown()


def test_three_models_behind_a_router(cluster, tmp_path):
    """The first test, since it needs the processors of the node that the next one removes."""
    models = router.make_models()
    router.write_models(models, tmp_path)
    handle = serve.run(router.application(tmp_path), name='router', route_prefix=None)
    generator = torch.Generator().manual_seed(5)
    requests = [(torch.randn(1, router.USER, generator=generator), torch.randn(3 + i % 4, router.ITEM, generator=generator))
                for i in range(40)]
    answers = [handle.remote(*request) for request in requests]  # at once, so that batches form
    for (user, items), answer in zip(requests, answers, strict=True):
        expected = models['ranking'](models['embedding'](user).expand(len(items), -1), items)
        torch.testing.assert_close(answer.result(timeout_s=60), expected)
    assert handle.remote(*requests[0], most_risk=0.0).result(timeout_s=60) is None
    serve.delete('router')


class Client:
    """Sends requests from several threads until it is told to stop; failures of a replica are tried again."""

    def __init__(self, handle, expected):
        self.handle, self.expected = handle, expected
        self.answered, self.again, self.wrong = 0, 0, 0
        self.last_failure = 0.0
        self.stop = threading.Event()
        self.lock = threading.Lock()

    def run(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        while not self.stop.is_set():
            x = torch.randn(1 + seed % 3, WIDTH, generator=generator)
            while True:
                try:
                    result = self.handle.remote(x).result(timeout_s=30)
                    break
                except Exception:
                    with self.lock:
                        self.again += 1
                        self.last_failure = time.monotonic()
                    time.sleep(0.05)
            with self.lock:
                self.answered += 1
                self.wrong += not torch.allclose(result, self.expected(x), atol=1e-5)


def test_replicas_and_nodes_that_are_lost(cluster, tmp_path, capsys):
    model = network(0)
    handle = serve.run(sr.serving.ray.deployment(
        str(saved(model, tmp_path / 'model.pt2')), replicas=3, warmup=[(torch.zeros(1, WIDTH),)],
        batching={'max_rows': 32}, health_check_period_s=1, health_check_timeout_s=5), name='lost', route_prefix=None)
    client = Client(handle, model)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(client.run, seed) for seed in range(4)]
        time.sleep(2)
        killed = time.monotonic()
        os.kill(handle.report.remote().result(timeout_s=30)['pid'], signal.SIGKILL)
        time.sleep(4)
        after_replica = max(client.last_failure - killed, 0)
        metrics = handle.metrics.remote().result(timeout_s=30)
        removed = time.monotonic()
        cluster.remove_node(cluster.other, allow_graceful=False)
        time.sleep(8)
        after_node = max(client.last_failure - removed, 0)
        before = client.answered
        time.sleep(1)
        client.stop.set()
        for run in runs:
            run.result(timeout=60)
    with capsys.disabled():
        print(f'\nRay: {client.answered} answers, {client.again} tried again; no failure {after_replica:.2f} s after a '
              f'replica was killed, {after_node:.2f} s after a node was removed')
    serve.delete('lost')
    assert client.wrong == 0
    assert client.answered > before  # it still answers
    assert 'sr_calls_total{model="sr",outcome="ok"}' in metrics and 'sr_batch_requests_total' in metrics


def test_weights_that_are_replaced(cluster, tmp_path):
    first, second = network(1), network(2)
    scripted = torch.jit.script(first)
    scripted.save(str(tmp_path / 'model.pt'))
    torch.save(second.state_dict(), tmp_path / 'second.pt')

    def run(weights):
        return serve.run(sr.serving.ray.deployment(str(tmp_path / 'model.pt'), options={'updatable_weights': True},
                                                   weights=weights), name='weights', route_prefix=None)

    x = torch.randn(2, WIDTH)
    handle = run(None)
    torch.testing.assert_close(handle.remote(x).result(timeout_s=30), first(x))
    handle = run(str(tmp_path / 'second.pt'))
    torch.testing.assert_close(handle.remote(x).result(timeout_s=30), second(x))
    serve.delete('weights')


def test_a_bad_request_fails_alone(cluster, tmp_path):
    handle = serve.run(sr.serving.ray.deployment(str(saved(network(3), tmp_path / 'model.pt2'))), name='bad',
                       route_prefix=None)
    with pytest.raises(Exception, match='dtype|type'):
        handle.remote(torch.zeros(1, WIDTH, dtype=torch.long)).result(timeout_s=30)
    assert handle.remote(torch.zeros(1, WIDTH)).result(timeout_s=30).shape == (1, 2)
    serve.delete('bad')


def test_options():
    with pytest.raises(sr.ArgumentError, match='one of them'):
        sr.serving.ray.deployment('model.pt2', replicas=2, autoscaling={'min_replicas': 1})
    with pytest.raises(sr.ArgumentError, match="no option 'nothing'"):
        sr.serving.ray.deployment('model.pt2', options={'nothing': 1})
