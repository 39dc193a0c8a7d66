"""sr quantize: what it writes, prints and refuses."""

import json
import os
import subprocess

import pytest
import torch
from torch import nn

TOOL = os.environ['SR_TOOL']


def sr(*arguments, status=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(500, 32)
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))

    def forward(self, ids, x):
        return self.layers(torch.cat([self.table(ids), x], 1))


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    torch.manual_seed(0)
    folder, net = tmp_path_factory.mktemp('quantize'), Ranker().eval()
    calls = [[torch.randint(500, (n,)), torch.randn(n, 32)] for n in (16, 4)]
    torch.jit.save(torch.jit.script(net), folder / 'model.pt')
    torch.export.save(torch.export.export(net, tuple(calls[0])), folder / 'model.pt2')
    torch.save(calls, folder / 'inputs.pt')
    torch.save(calls[:1], folder / 'one.pt')
    return folder, net, calls


def test_the_model_in_int8(files, tmp_path):
    folder, net, calls = files
    text = sr('quantize', folder / 'model.pt', tmp_path / 'int8.pt', '--inputs', folder / 'inputs.pt', '--max-time-ratio', 'inf',
              '--tables', '--json', tmp_path / 'report.json')
    assert '3 of 3 layers in int8' in text and 'Wrote' in text and 'random' not in text
    report = json.loads((tmp_path / 'report.json').read_text())
    assert [layer['name'] for layer in report['layers']] == ['layers.0', 'layers.2', 'table']
    assert 0.999 < report['smallest_cosine'] < 1 and 0.2 < report['int8_bytes'] / report['float_bytes'] < 0.35
    assert (tmp_path / 'int8.pt').stat().st_size < 0.5 * (folder / 'model.pt').stat().st_size
    sr('run', tmp_path / 'int8.pt', '--inputs', folder / 'inputs.pt', '--output', tmp_path / 'out.pt', '--strict')
    for call, result in zip(calls, torch.load(tmp_path / 'out.pt')):
        expected = net(*call)
        assert (result - expected).norm() < 0.03 * expected.norm()
        assert torch.allclose(torch.jit.load(tmp_path / 'int8.pt')(*call), result, rtol=1e-4, atol=1e-4)


def test_a_program_of_export(files, tmp_path):
    folder, _, _ = files
    text = sr('quantize', folder / 'model.pt2', tmp_path / 'int8.pt', '--inputs', folder / 'one.pt', '--max-time-ratio', 'inf')
    assert '2 of 2 layers in int8' in text
    assert 'output: Float[16, 8]' in sr('run', tmp_path / 'int8.pt', '--inputs', folder / 'one.pt')


def test_random_inputs_are_called_so(files, tmp_path):
    folder, _, _ = files
    text = sr('quantize', folder / 'model.pt', tmp_path / 'int8.pt', '--shape', 'i64[4]:0..499', '--shape', 'f32[4,32]')
    assert 'The inputs were random.' in text and (tmp_path / 'int8.pt').exists()


def test_a_model_that_loses_too_much_is_not_written(files, tmp_path):
    folder, _, _ = files
    text = sr('quantize', folder / 'model.pt', tmp_path / 'int8.pt', '--inputs', folder / 'inputs.pt', '--max-time-ratio', 'inf',
              '--max-difference', '1e-9', status=1)
    assert 'max_difference is 1e-09' in text and '2 of 2 layers in int8' in text and not (tmp_path / 'int8.pt').exists()


@pytest.mark.parametrize('arguments, said', [
    (['--min-cosine', '2'], 'min-cosine'),
    (['--max-layer-error', '-1'], 'max-layer-error'),
    (['--max-time-ratio', '0'], 'max-time-ratio'),
])
def test_wrong_usage(files, tmp_path, arguments, said):
    folder, _, _ = files
    assert said in sr('quantize', folder / 'model.pt', tmp_path / 'int8.pt', *arguments, status=2)


def test_a_file_that_can_not_be_written(files, tmp_path):
    folder, _, _ = files
    text = sr('quantize', folder / 'model.pt', tmp_path / 'none' / 'int8.pt', '--inputs', folder / 'inputs.pt', status=1)
    assert 'cannot be written' in text
