"""The published models give eager's results; their packages are in their own environment."""

import os
import subprocess

import pytest

from conftest import MODELS, ROOT


@pytest.mark.parametrize('name', ['sentence_embeddings', 'deepfm', 'din'])
def test_sr_gives_the_results_of_eager(example_python, name):
    if not list((ROOT / 'build' / 'python' / 'sr').glob('_C*.so')):
        pytest.skip('the extension is not in build/python; ./dev build python-package makes it')
    environment = os.environ | {'PYTHONPATH': str(ROOT / 'build' / 'python')}
    done = subprocess.run([example_python, MODELS / f'{name}.py', '--check'], env=environment, text=True,
                          capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('differs from eager by at most') == 3  # of both front ends, and in int8
