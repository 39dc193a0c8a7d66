"""The peers that are called from Python, each as a call without arguments, and their times in turns.

Beside each stands its floor: a model that returns its first input, called in the same way with as many inputs.
"""

import gc
import itertools
import statistics
import time
from typing import Callable

import numpy
import onnxruntime
import torch

from files import Files, Identity

RTOL, ATOL = 1e-3, 1e-4
Call = Callable[[], object]


def check(output: torch.Tensor, expected: torch.Tensor):
    if not torch.allclose(output, expected, rtol=RTOL, atol=ATOL):
        raise ValueError(f"its output differs from eager's by {(output - expected).abs().max().item():.1e}")


def eager(module: torch.nn.Module, inputs) -> Call:
    return lambda: module(*inputs)


def onnx_session(path, threads: int = 1, spins: bool = True) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry('session.intra_op.allow_spinning', str(int(spins)))
    return onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])


def onnx_runtime(path, inputs, output: torch.Tensor, threads: int = 1, spins: bool = True) -> Call:
    """Inputs and the output are bound once; a call writes into `output`. `spins`: its helpers wait for work awake."""
    session = onnx_session(path, threads, spins)
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


def seconds_of(call: Call, times: int) -> float:
    start = time.perf_counter()
    for _ in itertools.repeat(None, times):
        call()
    return time.perf_counter() - start


def calls_in(call: Call, seconds: float) -> int:
    """How many calls take about `seconds`, or fewer if it was interrupted; warms up on the way."""
    times = 1
    while (taken := seconds_of(call, times)) < seconds / 4:
        times *= 2
    return max(1, round(times * seconds / taken))


def time_in_rounds(calls: list[Call], rounds: int, seconds: float) -> list[float]:
    """Median microseconds of each. Rounds begin with different peers: each finds the caches of its predecessor."""
    times = [[] for _ in calls]
    gc.collect()
    gc.disable()
    with torch.inference_mode():
        counts = [max(calls_in(call, seconds) for _ in range(3)) for call in calls]
        for i in range(rounds):
            for j in range(len(calls)):
                k = (i + j) % len(calls)
                seconds_of(calls[k], max(1, counts[k] // 16))
                times[k].append(seconds_of(calls[k], counts[k]) / counts[k] * 1e6)
    gc.enable()
    return [statistics.median(t) for t in times]
