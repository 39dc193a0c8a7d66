"""What a call from Python costs: sr against upstream's binding and ONNX Runtime with IO binding; `sr bench` times sr from C++.

Medians of interleaved rounds in one process, one thread. ONNX Runtime is measured where it is installed: run this with
.venv-peers/bin/python, or ./dev bench python, which does.
"""

import argparse
import importlib.util
import pathlib
import sys
import tempfile
import warnings

import torch

import sr
from sr.rivals import time_in_rounds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'peers'))
from models import MODELS  # noqa: E402

warnings.filterwarnings('ignore', category=DeprecationWarning)


def onnx_runtime(module, inputs, output):
    """None if it is not installed. Inputs and the output are bound once."""
    if importlib.util.find_spec('onnxruntime') is None:
        return None
    import rivals
    from files import write_onnx

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'model.onnx'
        write_onnx(module, inputs, None, path)
        return rivals.onnx_runtime(path, inputs, output)


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
    return calls


def main():
    parser = argparse.ArgumentParser(prog='./dev bench python', description=__doc__)
    parser.add_argument('--model', action='append', choices=MODELS, help='default: deep_wide_b1')
    parser.add_argument('--rounds', type=int, default=201)
    parser.add_argument('--slice-ms', type=float, default=0.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.model or ['deep_wide_b1']:
        with torch.no_grad():
            medians = time_in_rounds(python_calls(name), rounds=args.rounds, seconds=args.slice_ms * 1e-3)
        nothing = medians.pop('a lambda')
        print(f'{name}: microseconds a call, less {nothing:.3f} for the call of a lambda that does nothing')
        own = medians['sr'] - nothing
        for peer, microseconds in medians.items():
            print(f'  {peer:20} {microseconds - nothing:9.3f}   sr / it {own / (microseconds - nothing):6.3f}')


if __name__ == '__main__':
    main()
