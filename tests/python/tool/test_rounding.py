"""sr bench on a quantized model whose activations lie beside the middle of two integers."""

import os
import re
import subprocess

import pytest
import torch

TOOL = os.environ['SR_TOOL']


class Model(torch.nn.Module):
    """Two linear layers as PT2E writes them. Half of the sums between them are halves of the next scale."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.register_buffer('first', torch.randint(-7, 8, (64, 64), dtype=torch.int8))
        self.register_buffer('second', torch.randint(-7, 8, (32, 64), dtype=torch.int8))

    def forward(self, x):
        x = torch.clamp(torch.round(x * (1.0 / 0.1)) + 0, 0, 15).to(torch.uint8)
        x = (x.to(torch.float32) - 0) * 0.1
        x = torch.nn.functional.linear(x, (self.first.to(torch.float32) - 0) * 0.1)
        x = torch.clamp(torch.round(x * (1.0 / 0.02)) + 128, 0, 255).to(torch.uint8)
        x = (x.to(torch.float32) - 128) * 0.02
        return torch.nn.functional.linear(x, (self.second.to(torch.float32) - 0) * 0.1)


def bench(tmp_path, *arguments):
    path = tmp_path / 'model.pt'
    torch.jit.script(Model().eval()).save(path)
    return subprocess.run([TOOL, 'bench', path, '--shape', 'f32[40,64]:0..1.6', '--iters', '20', *arguments],
                          capture_output=True, text=True, timeout=120)


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
def test_activations_that_are_rounded_otherwise_are_no_difference(tmp_path):
    done = bench(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'DIFFERS' not in done.stdout
    assert re.search(r'sr linear_scan fresh: .* rounds activations to integers, a few of them to others; '
                     'with exact numerics all agree', done.stdout), done.stdout
