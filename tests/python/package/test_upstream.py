"""Code written for torch._C.StaticModule runs unchanged."""

import pytest
import torch

import modules
import sr
from modules import scripted


@pytest.fixture
def both():
    script = scripted(modules.DeepWide())
    return sr.StaticModule(script), torch._C._jit_to_static_module(script._c), modules.DeepWide.inputs()


def names(thing):
    return {name for name in dir(thing) if not name.startswith('_')}


def test_every_name_of_upstreams_is_there(both):
    ours, theirs, inputs = both
    assert names(theirs) <= names(ours)
    assert {'benchmark', 'benchmark_individual_ops', 'runAsync'} <= names(theirs)
    ad, user, wide = inputs
    torch.testing.assert_close(ours(ad, user=user, wide=wide), theirs(ad, user=user, wide=wide))


def test_run_async(both):
    ours, theirs, inputs = both
    our, their = ours.runAsync(inputs, {}), theirs.runAsync(inputs, {})
    assert type(our) is type(their)
    torch.testing.assert_close(our.wait(), their.wait())
    ad, user, wide = inputs
    torch.testing.assert_close(ours.runAsync((ad,), {'wide': wide, 'user': user}).wait(), their.wait())


def test_individual_metrics(both):
    ours, theirs, inputs = both
    our = ours.benchmark_individual_ops(list(inputs), {}, 2, 5)
    their = theirs.benchmark_individual_ops(list(inputs), {}, 2, 5)
    assert names(their) <= names(our)
    for name in names(their):
        assert type(getattr(our, name)) is type(getattr(their, name)), name
    assert our.total_nodes_count == len(our.time_per_node) == sum(our.instances_per_node_type.values())
    assert set(our.time_per_node_type) == set(our.percent_per_node_type) == set(our.instances_per_node_type)
    assert sum(our.percent_per_node_type.values()) == pytest.approx(100)
    assert 0 < our.out_nodes_count <= our.total_nodes_count and our.out_nodes <= set(our.time_per_node_type)
    assert 'us in total' in repr(our)


def test_benchmark_returns_times(both):
    ours, _, (ad, user, wide) = both
    timing = ours.benchmark([ad, user], {'wide': wide}, 2, 5)
    assert timing['calls'] == timing['replayed'] == 5
    assert 0 < timing['min'] <= timing['median'] <= timing['p90'] <= timing['p99'] <= timing['max']
    assert repr(timing).startswith('5 calls, 5 replayed: median ')


def test_benchmarks_refuse_what_does_not_fit(both):
    ours, _, inputs = both
    with pytest.raises(sr.ArgumentError):
        ours.benchmark(inputs[:2], {}, 2, 5)
    with pytest.raises(sr.ArgumentError, match='at least one timed run'):
        ours.benchmark(inputs, {}, 2, 0)
    with pytest.raises(sr.ArgumentError, match='at least one timed run'):
        ours.benchmark_individual_ops(inputs, {}, 2, 0)
