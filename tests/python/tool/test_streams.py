"""What sr bench and sr inspect say of calls whose sizes vary, and of bound calls."""

import json
import os
import re
import subprocess

import pytest
import torch

TOOL = os.environ['SR_TOOL']


def sr(*arguments, status=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 8)

    def forward(self, x, y):
        return torch.relu(self.layer(x)) * y


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp('models') / 'model.pt'
    torch.jit.save(torch.jit.script(Model().eval()), path)
    return path


SHAPES = '--shape', 'f32[n,32]', '--shape', 'f32[n,8]'


def test_one_plan_serves_a_stream(model, tmp_path):
    text = sr('bench', model, *SHAPES, '--stream', 'uniform:2..90', '--seconds', '0.2', '--json', tmp_path / 'json')
    assert '256 input sets in turn' in text
    assert re.search(r'\(Float\[s0, 32\], Float\[s0, 8\]\): \d+ replays, sizes changed \d+ times; for 2 <= s0', text)
    assert 'not replayed. This input signature has not been seen often enough to record.' in text
    result, = json.loads((tmp_path / 'json').read_text())['results']
    paths = result['paths']
    family = max(paths['plans'], key=lambda plan: plan['replays'])
    low, high = map(int, re.fullmatch(r'(\d+) <= s0 <= (\d+)', family['sizes_seen'][0]).groups())
    assert result['agrees'] and 2 <= low < 10 and 80 < high <= 90
    assert family['replays'] > 0.9 * paths['replayed_calls'] > 500 and paths['recorded_plans'] <= 3


def test_several_streams(model):
    text = sr('inspect', model, '--shape', 'f32[n,32]', '--shape', 'f32[m,8]', '--stream', 'n=list:4,4,6', '--stream',
              'm=list:1', '--stream-calls', 3)
    assert 'so far' in text or 'Replay of' in text
    assert "which no --shape names" in sr('bench', model, *SHAPES, '--stream', 'm=uniform:1..3', status=2)
    assert 'has no --stream' in sr('bench', model, *SHAPES, status=2)


@pytest.mark.parametrize('outputs', ['into', 'bound'])
def test_results_in_buffers(model, outputs, tmp_path):
    sr('bench', model, '--shape', 'f32[4,32]', '--shape', 'f32[4,8]', '--outputs', outputs, '--seconds', '0.05', '--json',
       tmp_path / 'json')
    result, = json.loads((tmp_path / 'json').read_text())['results']
    assert result['outputs'] == outputs and result['agrees'] and result['replay']
    assert result['allocations_per_run'] == 0 and result['result_allocations_per_run'] == 0
