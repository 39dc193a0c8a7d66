"""Arguments that the tool takes from the signature of an exported program; python -m sr."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
import torch

TOOL = os.environ['SR_TOOL']


def sr(*arguments, tool=(TOOL,)):
    done = subprocess.run([*tool, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Ranking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layer = torch.nn.Embedding(2, 8), torch.nn.Linear(8 + 3, 1)

    def forward(self, ids, dense, flags):
        return self.layer(torch.cat([self.table(ids), dense], 1)).squeeze(1) * flags


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp('signature') / 'ranking.pt2'
    batch = torch.export.Dim('batch', min=2, max=64)
    arguments = torch.zeros(4, dtype=torch.long), torch.randn(4, 3), torch.ones(4, dtype=torch.bool)
    torch.export.save(torch.export.export(Ranking().eval(), arguments, dynamic_shapes=({0: batch},) * 3), path)
    return path


def test_an_exported_program_needs_no_shapes(program):
    status, printed, error = sr('run', program)
    assert status == 0 and printed.startswith('output: Float[8]'), error
    assert sr('run', program, '--batch', 5)[1].startswith('output: Float[5]')
    status, printed, error = sr('bench', program, '--batch', 3, '--seconds', 0.05)
    assert status == 0 and 'linear_scan' in printed, error
    assert re.search(r'Replay of .*Float\[\w+, 3\]', sr('inspect', program)[1])


def test_a_size_outside_of_the_range_is_an_error(program):
    status, _, error = sr('run', program, '--batch', 65)
    assert status == 2 and '64' in error


def test_batch_is_for_what_the_signature_describes(program):
    status, _, error = sr('run', program, '--batch', 5, '--shape', 'f32[2]')
    assert status == 2 and '--batch' in error


def test_a_scripted_module_still_needs_them(tmp_path):
    torch.jit.script(torch.nn.ReLU()).save(tmp_path / 'relu.pt')
    status, _, error = sr('run', tmp_path / 'relu.pt')
    assert status == 2 and '--shape' in error and 'takes 1' in error


@pytest.mark.skipif(importlib.util.find_spec('sr') is None, reason='this build has no Python package')
def test_python_starts_the_tool(program):
    status, printed, error = sr('run', program, '--batch', 2, tool=(sys.executable, '-m', 'sr'))
    assert status == 0 and printed.startswith('output: Float[2]'), error
    status, _, error = sr('nonsense', tool=(sys.executable, '-m', 'sr'))
    assert status == 2 and 'no verb' in error
