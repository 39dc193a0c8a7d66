"""Where the examples find one another, and the Python that has their packages."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODELS = ROOT / 'examples' / 'models'
sys.path.insert(0, str(MODELS))
PYTHON = ROOT / '.venv-examples' / 'bin' / 'python'


@pytest.fixture
def example_python():
    if not PYTHON.exists():
        pytest.skip('there is no .venv-examples with the published models; ./dev bench examples makes it')
    return PYTHON
