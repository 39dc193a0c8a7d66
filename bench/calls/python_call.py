"""What a call from Python costs: sr against upstream's binding, ONNX Runtime with IO binding, and sr from C++.

Medians of interleaved rounds in one process, one thread. ONNX Runtime is measured where it is installed: run this with
.venv-peers/bin/python, or ./dev bench python, which does.
"""

import argparse
import contextlib
import io
import pathlib
import re
import statistics
import sys
import tempfile
import time
import warnings

import torch

import sr

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'peers'))
from models import MODELS  # noqa: E402

warnings.filterwarnings('ignore', category=DeprecationWarning)


def onnx_runtime(module, inputs, output):
    """None if it is not installed. Inputs and the output are bound once."""
    try:
        import onnxruntime
        from files import write_onnx
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'model.onnx'
        write_onnx(module, inputs, path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])
    binding = session.io_binding()
    for wanted, tensor in zip(session.get_inputs(), inputs):
        kind = tensor.numpy().dtype.type
        binding.bind_input(wanted.name, 'cpu', 0, kind, tuple(tensor.shape), tensor.data_ptr())
    binding.bind_output(session.get_outputs()[0].name, 'cpu', 0, output.numpy().dtype.type, tuple(output.shape),
                        output.data_ptr())
    run = session.run_with_iobinding
    return lambda: run(binding)


def python_calls(name):
    """The timed peers, each as a call without arguments."""
    module, inputs = MODELS[name].make()
    scripted = torch.jit.script(module)
    fast, frozen = sr.StaticModule(scripted), torch.jit.freeze(scripted)
    upstream = torch._C._jit_to_static_module(scripted._c)
    expected = module(*inputs)
    output = torch.empty_like(expected)
    calls = {
        'sr': lambda: fast(*inputs),
        'sr, out=': lambda: fast(*inputs, out=output),
        'upstream': lambda: upstream(*inputs),
        'interpreter': lambda: frozen(*inputs),
        'eager': lambda: module(*inputs),
        'ONNX Runtime, bound': onnx_runtime(module, inputs, output),
        'a lambda': lambda: None,
    }
    calls = {peer: call for peer, call in calls.items() if call is not None}
    for peer, call in calls.items():
        for _ in range(10):
            output.zero_()
            result = call()
        if peer != 'a lambda':
            torch.testing.assert_close(result if isinstance(result, torch.Tensor) else output, expected,
                                       rtol=1e-3, atol=1e-4)
    return calls, fast, inputs


def time_in_rounds(calls, rounds, slice_seconds):
    """Medians in microseconds a call, each peer for one slice in each round."""
    counts = {}
    for peer, call in calls.items():
        start = time.perf_counter()
        for _ in range(200):
            call()
        counts[peer] = max(10, int(slice_seconds * 200 / (time.perf_counter() - start)))
    times = {peer: [] for peer in calls}
    for _ in range(rounds):
        for peer, call in calls.items():
            repeats = range(counts[peer])
            start = time.perf_counter()
            for _ in repeats:
                call()
            times[peer].append((time.perf_counter() - start) / counts[peer] * 1e6)
    return {peer: statistics.median(values) for peer, values in times.items()}


def time_from_cpp(module, inputs, rounds):
    printed = []
    for _ in range(rounds):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            module.benchmark(inputs, {}, 100, 2000)
        printed.append(float(re.search(r'One call: (\S+) us', text.getvalue())[1]))
    return statistics.median(printed)


def main():
    parser = argparse.ArgumentParser(prog='./dev bench python', description=__doc__)
    parser.add_argument('--model', action='append', choices=MODELS, help='default: deep_wide_b1')
    parser.add_argument('--rounds', type=int, default=201)
    parser.add_argument('--slice-ms', type=float, default=0.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.model or ['deep_wide_b1']:
        with torch.no_grad():
            calls, module, inputs = python_calls(name)
            medians = time_in_rounds(calls, args.rounds, args.slice_ms * 1e-3)
            medians['sr from C++'] = time_from_cpp(module, inputs, max(3, args.rounds // 10))
        nothing = medians.pop('a lambda')
        print(f'{name}: microseconds a call, less {nothing:.3f} for the call of a lambda that does nothing')
        own = medians['sr'] - nothing
        for peer, microseconds in medians.items():
            microseconds -= 0 if peer == 'sr from C++' else nothing
            print(f'  {peer:20} {microseconds:9.3f}   sr / it {own / microseconds:6.3f}')
        print(f"  overhead of Python   {own - medians['sr from C++']:9.3f}")


if __name__ == '__main__':
    main()
