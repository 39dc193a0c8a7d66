"""Times a model on sr and on other runtimes of this Python, in one process and in turn.

`sr bench --against eager,onnxruntime,openvino` runs it. The file of the model is loaded by torch itself, too, which
unpickles parts of it: only for files that you trust.
"""

import argparse
import gc
import importlib.util
import json
import math
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import _formats
from ._load import load
from .errors import ArgumentError, Error

ROUNDS = 15
Call = Callable[[int], Any]  # with the index of an input set
INSTALLS = {
    'onnxruntime': ('onnxruntime', 'onnx', 'onnxscript'),
    'openvino': ('openvino',),
}


class _Model:
    """A model from a file, and the calls that are timed."""

    def __init__(self, path: str, sets: Sequence[Sequence[Any]], threads: int, module: torch.nn.Module | None) -> None:
        self.path, self.threads, self.module = path, threads, module
        self.program = torch.export.load(path) if _formats.is_exported(path) else None
        self.flat = [list(values) for values in sets]
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        for values in self.flat:
            if self.program is None:
                self.calls.append((tuple(values), {}))
            else:
                args, kwargs = pytree.tree_unflatten(values, self.program.call_spec.in_spec)
                self.calls.append((args, kwargs))

    def _of_calls(self, function: Callable[..., Any]) -> Call:
        calls = self.calls

        def call(i: int) -> Any:
            args, kwargs = calls[i]
            return function(*args, **kwargs)

        return call

    def sr(self) -> Call:
        return self._of_calls(load(self.path))

    def eager(self) -> Call:
        if self.module is not None:
            return self._of_calls(self.module)
        if self.program is None:
            raise ArgumentError('the file holds TorchScript, not Python code; compare with the interpreter, or export '
                                'the model with torch.export.save')
        return self._of_calls(self.program.module())

    def _tensors(self, i: int) -> list[torch.Tensor]:
        return [value.detach().contiguous() for value in self.flat[i] if isinstance(value, torch.Tensor)]

    def onnxruntime(self) -> Call:
        import onnxruntime  # type: ignore[import-not-found]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 3
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'model.onnx')
            if self.program is not None:
                torch.onnx.export(self.program, f=path, dynamo=True, external_data=False, verbose=False)
            else:
                _require_equal_sizes(self.flat)
                torch.onnx.export(torch.jit.load(self.path), tuple(self.flat[0]), path,  # type: ignore[no-untyped-call]
                                  dynamo=False)
            session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        names = [wanted.name for wanted in session.get_inputs()]
        bindings = []
        for i in range(len(self.flat)):
            binding = session.io_binding()
            tensors = self._tensors(i)
            for name, tensor in zip(names, tensors, strict=True):
                binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy()))
            for output in session.get_outputs():
                binding.bind_output(output.name)
            bindings.append(binding)

        def call(i: int) -> Any:
            session.run_with_iobinding(bindings[i])
            return bindings[i].get_outputs()

        return call

    def openvino(self) -> Call:
        import openvino  # type: ignore[import-not-found]

        if self.program is not None:
            converted = openvino.convert_model(self.program)
        else:
            converted = openvino.convert_model(torch.jit.load(self.path),  # type: ignore[no-untyped-call]
                                               example_input=tuple(self.flat[0]))
        compiled = openvino.Core().compile_model(converted, 'CPU', {
            'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_NUM_THREADS': self.threads, 'NUM_STREAMS': 1,
            'INFERENCE_PRECISION_HINT': 'f32'})
        request = compiled.create_infer_request()
        inputs = [dict(enumerate(tensor.numpy() for tensor in self._tensors(i))) for i in range(len(self.flat))]

        def call(i: int) -> Any:
            return request.infer(inputs[i], share_inputs=True, share_outputs=True)

        return call


def _require_equal_sizes(sets: Sequence[Sequence[Any]]) -> None:
    shapes = [[tuple(value.shape) for value in values if isinstance(value, torch.Tensor)] for values in sets]
    if any(shape != shapes[0] for shape in shapes):
        raise ArgumentError('the calls differ in sizes, which an ONNX model of TorchScript cannot leave open; export '
                            'the model with torch.export.save')


def _flat_tensors(result: Any) -> list[torch.Tensor]:
    """Of torch, of ONNX Runtime's values and of OpenVINO's dictionaries."""
    if hasattr(result, 'to_dict'):
        result = list(result.to_dict().values())
    leaves = pytree.tree_leaves(result)
    return [leaf if isinstance(leaf, torch.Tensor) else torch.as_tensor(leaf.numpy() if hasattr(leaf, 'numpy') else leaf)
            for leaf in leaves if leaf is not None]


def _difference(expected: Any, actual: Any) -> float:
    """The largest difference of an element. Raises ValueError where the results cannot be compared."""
    first, second = _flat_tensors(expected), _flat_tensors(actual)
    if [tuple(a.shape) for a in first] != [tuple(b.shape) for b in second]:
        raise ValueError('its results have other sizes than those of sr')
    largest = 0.0
    for a, b in zip(first, second, strict=True):
        if a.numel():
            equal = (a == b) | (a.isnan() & b.isnan())
            wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
            distance = (a.to(wide) - b.to(wide)).abs().nan_to_num(math.inf)
            largest = max(largest, distance.masked_fill(equal, 0.0).max().item())
    return largest


def _seconds(call: Call, sets: int, times: int) -> float:
    begin = time.perf_counter()
    for i in range(times):
        call(i % sets)
    return time.perf_counter() - begin


def _time(calls: dict[str, Call], sets: int, seconds: float) -> dict[str, float]:
    """Seconds of a call: the median of rounds, in which all take turns."""
    counts: dict[str, int] = {}
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    for name, call in calls.items():
        times = sets
        while (taken := _seconds(call, sets, times)) < seconds / ROUNDS / 2:
            times *= 2
        counts[name] = max(1, round(times * seconds / ROUNDS / taken))
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, call in calls.items():
                rounds[name].append(_seconds(call, sets, counts[name]) / counts[name])
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in rounds.items()}


def _reason(name: str, error: Exception) -> str:
    missing = [package for package in INSTALLS.get(name, ()) if importlib.util.find_spec(package) is None]
    if missing:
        return f"not installed: pip install {' '.join(missing)}"
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300] if text else 'no message'}"


def compare(path: str, sets: Sequence[Sequence[Any]], names: Sequence[str], *, threads: int = 1, seconds: float = 1.0,
            module: torch.nn.Module | None = None) -> list[dict[str, Any]]:
    """Times `names` ('eager', 'onnxruntime', 'openvino') and sr: seconds a call, and the difference to sr's results.

    `sets` are the positional arguments of calls, flat as the tool takes them. A runtime that is not there, or does not
    take the model, has an 'error' in place of 'seconds'. Each runtime gets about `seconds` of time. Eager is `module`, or
    else the exported program as torch runs it, whose checks cost about as much again as a small model.
    """
    torch.set_num_threads(threads)
    rows: list[dict[str, Any]] = []
    calls: dict[str, Call] = {}
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = _Model(path, sets, threads, module)
        calls['sr'] = model.sr()
        for i in list(range(len(sets))) * 3:  # records, then replays
            calls['sr'](i)
        expected = [calls['sr'](i) for i in range(len(sets))]
        for name in ['sr', *names]:
            row: dict[str, Any] = {'runner': name}
            rows.append(row)
            try:
                call = calls.get(name) or getattr(model, name)()
                row['difference'] = max(_difference(expected[i], call(i)) for i in range(len(sets)))
                calls[name] = call
            except Exception as error:
                row['error'] = _reason(name, error)
        times = _time(calls, len(sets), seconds)
    for row in rows:
        if row['runner'] in times:
            row['seconds'] = times[row['runner']]
    return rows


def main() -> int:
    """Prints what `compare` returns, as JSON."""
    parser = argparse.ArgumentParser(prog='python -m sr.rivals', description=__doc__)
    parser.add_argument('model')
    parser.add_argument('--inputs', required=True, help='a list of input sets, of torch.save')
    parser.add_argument('--runners', required=True, help='names with commas')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=1.0)
    options = parser.parse_args()
    try:
        rows = compare(options.model, torch.load(options.inputs, weights_only=True), options.runners.split(','),
                       threads=options.threads, seconds=options.seconds)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(rows))
    return 0


if __name__ == '__main__':
    sys.exit(main())
