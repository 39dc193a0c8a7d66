"""Times a model on sr and on other runtimes of this Python, in one process and in turn.

`sr bench --against eager,onnxruntime,openvino` runs it. The file of the model is loaded by torch itself, too, which
unpickles parts of it: only for files that you trust.
"""

import argparse
import gc
import importlib.util
import itertools
import json
import math
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
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

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'model.onnx')
            if self.program is not None:
                torch.onnx.export(self.program, f=path, dynamo=True, external_data=False, verbose=False)
            else:
                _require_equal_sizes(self.flat)
                torch.onnx.export(torch.jit.load(self.path), tuple(self.flat[0]), path,  # type: ignore[no-untyped-call]
                                  dynamo=False)
            session = onnx_session(path, self.threads)
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


def _seconds(call: Callable[[], Any], times: int) -> float:
    begin = time.perf_counter()
    for _ in itertools.repeat(None, times):
        call()
    return time.perf_counter() - begin


def _calls_in(call: Callable[[], Any], seconds: float) -> int:
    """How many calls take about `seconds`, or fewer if it was interrupted; warms up on the way."""
    times = 4  # sr replays from the third on
    while (taken := _seconds(call, times)) < seconds / 4:
        times *= 2
    return max(1, round(times * seconds / taken))


def time_in_rounds(calls: Mapping[str, Callable[[], Any]], *, rounds: int = ROUNDS,
                   seconds: float = 0.03) -> dict[str, float]:
    """Median microseconds of each call. In a round each is timed for about `seconds`.

    Every round begins with another one, since each finds the caches as its predecessor left them, and is called a while
    before it is timed. What else the machine does meets all of them.

    >>> import sr.rivals
    >>> list(sr.rivals.time_in_rounds({'sum': lambda: sum([1, 2])}, rounds=3, seconds=1e-4))
    ['sum']
    """
    names, times = list(calls), {name: list[float]() for name in calls}
    gc.collect()
    gc.disable()
    try:
        counts = {name: max(_calls_in(call, seconds) for _ in range(3)) for name, call in calls.items()}
        for i in range(rounds):
            first = i % len(names)
            for name in names[first:] + names[:first]:
                _seconds(calls[name], max(1, counts[name] // 16))
                times[name].append(_seconds(calls[name], counts[name]) / counts[name] * 1e6)
    finally:
        gc.enable()
    return {name: statistics.median(taken) for name, taken in times.items()}


def onnx_session(path: str | os.PathLike[str], threads: int = 1, spins: bool = True) -> Any:
    """An onnxruntime.InferenceSession on the CPU. `spins`: its helpers wait for work awake, as is its default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry('session.intra_op.allow_spinning', str(int(spins)))
    return onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])


def _in_turn(call: Call, sets: int) -> Callable[[], Any]:
    indices = itertools.cycle(range(sets))
    return lambda: call(next(indices))


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
        times = time_in_rounds({name: _in_turn(call, len(sets)) for name, call in calls.items()}, seconds=seconds / ROUNDS)
    for row in rows:
        if row['runner'] in times:
            row['seconds'] = times[row['runner']] / 1e6
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
