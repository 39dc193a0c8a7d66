"""The package of the build: PYTHONPATH says where it is (meson test does, and ./dev python)."""

import pathlib
import sys
import warnings

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def scripting_is_quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', r'`torch\.jit', DeprecationWarning)
        yield


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(7)
