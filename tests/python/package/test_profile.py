"""Profiles of replays, and ranges in torch's profiler."""

import json
import logging

import pytest
import torch

import modules
import sr


@pytest.fixture
def network():
    return sr.compile(modules.DeepWide().eval(), modules.DeepWide.inputs())


def test_a_profile_has_the_steps_of_the_plan(network, tmp_path):
    inputs = modules.DeepWide.inputs(8)
    before = network.metrics()['calls']
    profile = network.profile(*inputs, seconds=0.1)
    [program] = profile['programs']
    operators = [op for step in program['steps'] for op in step['ops']]
    assert 'aten::bmm' in operators and 'aten::sigmoid' in operators
    assert all(step['seconds'] >= 0 and step['kind'] for step in program['steps'])
    assert program['seconds'] == pytest.approx(sum(step['seconds'] for step in program['steps']))
    assert 0 < program['seconds'] < profile['call_seconds']
    assert 'Steps of the replay of (Float[' in repr(profile) and '100' not in repr(profile).splitlines()[0]
    assert network.metrics()['calls'] > before  # the median is of calls of the module

    profile.save_trace(tmp_path / 'trace.json')
    events = json.loads((tmp_path / 'trace.json').read_text())['traceEvents']
    spans = [event for event in events if event['ph'] == 'X']
    assert len(spans) == len(program['steps']) and 'aten::bmm' in str(spans)
    for one, next_one in zip(spans, spans[1:], strict=False):
        assert one['ts'] + one['dur'] == pytest.approx(next_one['ts'])


def test_a_model_that_is_not_replayed_says_so(caplog):
    module = sr.compile(modules.DeepWide().eval(), enable_replay=False)
    profile = module.profile(*modules.DeepWide.inputs(), seconds=0.05)
    assert profile['programs'] == [] and 'not replayed' in repr(profile)
    with caplog.at_level(logging.WARNING, 'sr'):
        module.warmup(*modules.DeepWide.inputs())
    assert 'not replayed' in caplog.text


def test_the_profiler_of_torch_shows_steps(network):
    inputs = modules.DeepWide.inputs(4)
    network.warmup(*inputs)
    with torch.profiler.profile() as profiler:
        network(*inputs)
    assert not any(event.key.startswith('sr: ') for event in profiler.key_averages())
    with torch.profiler.profile() as profiler, network.profiled():
        for _ in range(3):
            network(*inputs)
    counts = {event.key: event.count for event in profiler.key_averages() if event.key.startswith('sr: ')}
    assert counts and set(counts.values()) == {3} and any('aten::sigmoid' in key for key in counts)


def test_a_profile_refuses_what_a_call_refuses(network):
    with pytest.raises(sr.ArgumentError):
        network.profile(torch.zeros(2))


def test_a_hot_operator_of_the_interpreter_is_named(caplog):
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.cdist(x, x) + 1

    module = sr.compile(Model(), (torch.randn(48, 48),))
    module.warmup(torch.randn(48, 48))
    [message] = [record.message for record in caplog.records if record.name == 'sr']
    assert message.startswith('aten::cdist takes ') and "LibTorch's interpreter" in message
    caplog.clear()
    sr.compile(torch.nn.Linear(8, 8), (torch.randn(4, 8),)).warmup(torch.randn(4, 8))
    assert not [record for record in caplog.records if record.name == 'sr']
