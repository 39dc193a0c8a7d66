"""The package of the build: PYTHONPATH says where it is (meson test does, and ./dev python)."""

import pathlib
import sys
import warnings

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from weight_changes import FRONT_ENDS, Plain, Tabular, check  # noqa: E402


@pytest.fixture(autouse=True)
def scripting_is_quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', r'`torch\.jit', DeprecationWarning)
        yield


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(7)


@pytest.fixture(params=FRONT_ENDS)
def made(request):
    """A model, and modules made of it in several ways."""
    net = Plain().eval() if request.param == 'script' else Tabular().eval()
    make = FRONT_ENDS[request.param]
    modules = [make(net), make(net, enable_replay=False)]
    modules.append(modules[0].clone())
    for module in modules:
        check(module, net)
    return net, modules
