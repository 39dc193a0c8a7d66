"""The package of the build, as for the tests of the package."""

import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(7)
