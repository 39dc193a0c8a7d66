"""sr runs TorchScript models on CPU with as little as possible between the caller and the arithmetic.

    module = sr.load('model.pt')           # or sr.compile(nn_module), sr.StaticModule(scripted)
    scores = module(x, mask=None)          # from any thread
    module(x, out=buffer)                  # into your tensor or array
    scores = await module.run_async(x)
"""

import atexit

import torch

from ._build import locate_build
from ._version import version

__path__ += locate_build(__name__, __path__, torch.__version__)  # where _C is

from . import _C
from ._backend import torch_backend
from ._batcher import Batcher, BatcherReport
from ._C import BoundCall, IndividualMetrics, processors
from ._compile import compile, from_exported
from ._future import Future
from ._info import Info, info
from ._load import load
from ._module import StaticModule
from ._options import Options
from ._quantize import quantize
from ._profile import Profile, Timing
from ._report import Metrics, QuantizationReport, Report, Value
from ._session import Session
from .errors import (
    ArgumentError,
    BusyError,
    CancelledError,
    Error,
    LoadError,
    QuantizationError,
    StateError,
    UnsupportedOpError,
)

__version__ = version
__all__ = [
    'ArgumentError', 'Batcher', 'BatcherReport', 'BoundCall', 'BusyError', 'CancelledError', 'Error', 'Future',
    'IndividualMetrics', 'Info', 'LoadError', 'Metrics', 'Options', 'Profile', 'QuantizationError',
    'QuantizationReport', 'Report', 'Session', 'StateError', 'StaticModule', 'Timing', 'UnsupportedOpError', 'Value',
    'compile', 'from_exported', 'info', 'load', 'processors', 'quantize', 'torch_backend',
]

atexit.register(_C.wait_for_async_calls)
