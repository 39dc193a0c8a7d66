"""Wrong usage exits with 2 and a sentence, other errors with 1; errors of TorchScript name the user's lines."""

import os
import subprocess
import sys

import pytest

TOOL = os.environ['SR_TOOL']
MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x, i: int):
        y = x * 2
        return y[i] + torch.ones(3)


if __name__ == '__main__':
    torch.jit.script(Model()).save('model.pt')
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp('usage')
    (path / 'user_model.py').write_text(MODEL)
    subprocess.run([sys.executable, '-W', 'ignore', 'user_model.py'], cwd=path, check=True)
    return path


RIGHT = '--shape', 'f32[8,3]', '--shape', 'int:1'
WRONG = [
    (),
    ('nonsense',),
    ('run',),
    ('run', 'model.pt', '--shape', 'f32[8'),
    ('run', 'model.pt', '--shape', 'f32[8,3]'),
    ('run', 'model.pt', '--shape', 'f32[8,3]', '--shape', 'f32[2]'),
    ('run', 'model.pt', *RIGHT, '--inputs', 'inputs.pt'),
    ('bench', 'model.pt', 'model.pt', *RIGHT, '--ops', '--ops-plot', 'x.svg', '--seconds', '0.01'),
    ('bench', 'model.pt', *RIGHT, '--planner', 'best'),
    ('bench', 'model.pt', *RIGHT, '--stream', 'n=foo:1'),
    ('inspect', 'model.pt', '--plan', 'x.png'),
    ('inspect', 'model.pt', '--without-pass', 'nothing'),
    ('quantize', 'model.pt'),
    ('report', 'model.pt'),
    ('tune',),
]


def sr(folder, *arguments):
    return subprocess.run([TOOL, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize('arguments', WRONG, ids=' '.join)
def test_wrong_usage(folder, arguments):
    done = sr(folder, *arguments)
    message = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and message.startswith('sr: ') and message.endswith('.'), done.stderr


@pytest.mark.parametrize('arguments', [
    ('run', 'missing.pt'),
    ('run', '.'),
    ('run', 'user_model.py'),
    ('report', 'model.pt', *RIGHT, '--html', '/nowhere/x.html', '--seconds', '0.01'),
], ids=' '.join)
def test_other_errors(folder, arguments):
    done = sr(folder, *arguments)
    assert done.returncode == 1 and done.stderr.count('\n') == 1 and done.stderr.startswith('sr: '), done.stderr


@pytest.mark.parametrize(('arguments', 'line'), [(('f32[8,3]', 'int:9'), 7), (('f32[8,4]', 'int:1'), 7)])
def test_errors_name_the_users_line(folder, arguments, line):
    done = sr(folder, 'run', 'model.pt', '--shape', arguments[0], '--shape', arguments[1])
    assert done.returncode == 1 and f'user_model.py:{line})' in done.stderr, done.stderr
    assert '__torch__' not in done.stderr and '0x' not in done.stderr


def test_timings_tell_what_precedes_the_first_answer(folder):
    done = subprocess.run([TOOL, 'run', 'model.pt', *RIGHT, '--timings', '--repeat', '12'], cwd=folder, check=True, capture_output=True, text=True)
    rows = [line.split(' ms  ') for line in done.stdout.splitlines() if ' ms  ' in line]
    assert [part.split(',')[0] for _, part in rows] == ['load the libraries', 'list the operators of LibTorch', 'read the model', 'prepare it', 'make the inputs and a runtime',
                                                        *(f'call {i}' for i in range(1, 9))]
    assert all(float(time) >= 0 for time, _ in rows) and float(rows[0][0]) > 1
    assert 'output' in done.stdout
    assert ' ms  ' not in subprocess.run([TOOL, 'run', 'model.pt', *RIGHT], cwd=folder, check=True, capture_output=True, text=True).stdout
