"""Rivals that are called from Python, beside sr: `sr bench --against eager,onnxruntime,openvino`."""

import functools
import importlib.util
import json
import os
import subprocess
import sys

import pytest
import torch

TOOL = os.environ['SR_TOOL']
# A build with the LibTorch of another release has no package.
with_package = pytest.mark.skipif(importlib.util.find_spec('sr') is None, reason='this build has no Python package')


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 8)

    def forward(self, x, pair):
        return {'a': torch.relu(self.layer(x)), 'b': pair[0] * 2 + pair[1]}


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp('rivals') / 'a model.pt2'
    pair = (torch.randn(3), torch.randn(3))
    torch.export.save(torch.export.export(Model().eval(), (torch.randn(2, 16), pair)), path)
    return path


def bench(*arguments, **environment):
    command = [str(a) for a in (TOOL, 'bench', *arguments, '--seconds', 0.05)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {'SR_PYTHON': sys.executable} | environment)


@with_package
def test_eager_is_timed_beside_sr(program, tmp_path):
    record = tmp_path / 'record.json'
    done = bench(program, '--against', 'interpreter,eager', '--json', record)
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index('called from Python'):].splitlines()
    assert [line.split()[0] for line in table[1:3]] == ['sr', 'eager']
    rows = json.loads(record.read_text())['from_python'][str(program)]
    assert [row['runner'] for row in rows] == ['sr', 'eager']
    assert all(row['median_ns'] > 0 and row['max_abs_diff'] < 1e-5 for row in rows)


@with_package
@pytest.mark.parametrize('name', ['onnxruntime', 'openvino'])
def test_a_rival_that_is_not_there_has_a_line(program, name):
    if importlib.util.find_spec(name):
        pytest.skip(f'{name} is installed')
    done = bench(program, '--against', name)
    assert done.returncode == 0, done.stderr
    assert f'{name}: not installed: pip install {name}' in done.stdout


@with_package
def test_torchscript_has_no_eager(tmp_path):
    path = tmp_path / 'relu.pt'
    torch.jit.script(torch.nn.ReLU()).save(path)
    done = bench(path, '--shape', 'f32[4]', '--against', 'eager')
    assert done.returncode == 0, done.stderr
    assert 'the file holds TorchScript' in done.stdout


def test_a_python_that_does_not_run_it(program):
    done = bench(program, '--against', 'eager', SR_PYTHON='/nowhere/python')
    assert done.returncode == 1 and "'/nowhere/python' cannot be run" in done.stderr
    done = bench(program, '--against', 'eager', PYTHONPATH='')
    if done.returncode:  # else sr is installed
        assert 'SR_PYTHON' in done.stderr and len(done.stderr.splitlines()) < 4, done.stderr


def test_wrong_usage(program):
    done = bench(program, '--against', 'eager', '--rate', 100)
    assert done.returncode == 2 and 'called from Python' in done.stderr
    assert bench(program, '--against', 'tensorflow').returncode == 2


@with_package
def test_every_call_is_timed_in_every_round():
    from sr.rivals import time_in_rounds

    calls = {'a': 0, 'b': 0}

    def count(name):
        calls[name] += 1

    found = time_in_rounds({name: functools.partial(count, name) for name in calls}, rounds=2, seconds=1e-4)
    assert list(found) == ['a', 'b'] and all(calls.values()) and all(value > 0 for value in found.values())
