"""The peers that are called from Python, each as a call without arguments; sr.rivals times them in turn.

Beside each stands its floor: a model that returns its first input, called in the same way with as many inputs.
"""

from typing import Callable

import numpy
import sr.rivals
import torch

from files import Files, Identity

RTOL, ATOL = 1e-3, 1e-4
Call = Callable[[], object]


def check(output: torch.Tensor, expected: torch.Tensor):
    if not torch.allclose(output, expected, rtol=RTOL, atol=ATOL):
        raise ValueError(f"its output differs from eager's by {(output - expected).abs().max().item():.1e}")


def eager(module: torch.nn.Module, inputs) -> Call:
    return lambda: module(*inputs)


def onnx_runtime(path, inputs, output: torch.Tensor, threads: int = 1, spins: bool = True) -> Call:
    """Inputs and the output are bound once; a call writes into `output`. `spins`: its helpers wait for work awake."""
    session = sr.rivals.onnx_session(path, threads, spins)
    binding = session.io_binding()
    for wanted, tensor in zip(session.get_inputs(), inputs):
        kind = numpy.int64 if tensor.dtype == torch.int64 else numpy.float32
        binding.bind_input(wanted.name, 'cpu', 0, kind, tuple(tensor.shape), tensor.data_ptr())
    binding.bind_output(session.get_outputs()[0].name, 'cpu', 0, numpy.float32, tuple(output.shape), output.data_ptr())

    def call(bound=(inputs, output)):  # bound by address, so the call must keep them alive
        session.run_with_iobinding(binding)

    return call


def open_vino(path, inputs, output: torch.Tensor, threads: int = 1) -> Call:
    from open_vino import Request

    return Request(path, inputs, output, threads).call()


def with_floor(start: Callable, path, floor_path, files: Files) -> tuple[Call, Call]:
    output = torch.zeros(files.expected.shape)
    call = start(path(), files.inputs, output)
    call()
    check(output, files.expected)
    return call, start(floor_path(), files.floor_inputs(), torch.zeros(1))


def make_calls(files: Files) -> tuple[dict[str, tuple[Call, Call]], dict[str, str]]:
    """The peers that can run the model, each with its floor, and the reasons why others cannot."""
    calls, reasons = {'eager': (eager(files.module, files.inputs), eager(Identity(), files.floor_inputs()))}, {}
    for name, start in {'ONNX Runtime': onnx_runtime, 'OpenVINO': open_vino}.items():
        try:
            calls[name] = with_floor(start, files.onnx, files.floor_onnx, files)
        except Exception as error:  # any exception of a peer is reported
            reasons[name] = f'{type(error).__name__}: {error}'
    return calls, reasons
