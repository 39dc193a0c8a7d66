"""What two threads gain on a quiet machine, and what they cost beside a process that burns one core: a table in Markdown.

Every runtime is called from Python and writes into a buffer of the caller. Blocks of calls with one and with two threads
alternate, first without the process, then with it. After a block all rest, so that helpers that spin are asleep when
another runtime is timed.
"""

import argparse
import contextlib
import multiprocessing
import pathlib
import re
import time
from typing import Callable, Iterator

import numpy
import sr
import torch
from torch import nn

import main as peers
import rivals
from files import Files
from models import SEED, linear, transformer

THREADS = (1, 2)
REST = 0.05  # seconds


def perceptron() -> nn.Module:
    layers = []
    for _ in range(6):
        layers += [linear(2048, 2048), nn.ReLU()]
    return nn.Sequential(*layers)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, int]]] = {
    '6 linears of 2048, batch 8': (perceptron, (8, 2048)),
    'BERT of 6 layers 384, 128 tokens': (lambda: transformer(6, 384, 12, 1536), (128, 384)),
}


def sr_call(files: Files, output: torch.Tensor, threads: int) -> rivals.Call:
    return sr.StaticModule(torch.jit.load(str(files.script)), freeze_weights=True,
                           intra_op_threads=threads).bind(*files.inputs, out=output)


MAKERS: dict[str, Callable[[Files, torch.Tensor, int], rivals.Call]] = {
    'sr': sr_call,
    'ONNX Runtime': lambda files, out, threads: rivals.onnx_runtime(files.onnx(), files.inputs, out, threads),
    'ONNX Runtime, without spinning':
        lambda files, out, threads: rivals.onnx_runtime(files.onnx(), files.inputs, out, threads, spins=False),
    'OpenVINO': lambda files, out, threads: rivals.open_vino(files.onnx(), files.inputs, out, threads),
}


def burn():
    while True:
        pass


@contextlib.contextmanager
def burner() -> Iterator[None]:
    """A process that never sleeps."""
    process = multiprocessing.get_context('spawn').Process(target=burn, daemon=True)
    process.start()
    time.sleep(0.5)
    try:
        yield
    finally:
        process.kill()
        process.join()


def block(call: rivals.Call, seconds: float) -> list[float]:
    """Milliseconds of each call."""
    times, end = [], time.perf_counter() + seconds
    call()
    while (start := time.perf_counter()) < end or len(times) < 3:
        call()
        times.append((time.perf_counter() - start) * 1e3)
    time.sleep(REST)
    return times


def time_all(calls: dict, rounds: int, seconds: float) -> dict:
    times = {key: [] for key in calls}
    keys = list(calls)
    for i in range(rounds):
        for key in keys[i % len(keys):] + keys[:i % len(keys)]:
            times[key] += block(calls[key], seconds)
    return times


def measure(name: str, args: argparse.Namespace) -> list[list[str]]:
    torch.manual_seed(SEED)
    module, sizes = MODELS[name]
    files = Files(args.data, re.sub(r'\W+', '_', f'busy {name}'), module().eval().requires_grad_(False), [(torch.randn(*sizes),)])
    calls, buffers = {}, []
    for runtime, make in MAKERS.items():
        for threads in THREADS:
            buffers.append(torch.zeros(files.expected.shape))
            calls[runtime, threads] = make(files, buffers[-1], threads)
            for _ in range(4):
                calls[runtime, threads]()
            rivals.check(buffers[-1], files.expected)
    quiet = time_all(calls, args.rounds, args.seconds)
    with burner():
        busy = time_all(calls, args.rounds, args.seconds)
    rows = []
    for runtime in MAKERS:
        one, two = quiet[runtime, 1], quiet[runtime, 2]
        cells = [f'{numpy.median(one):.2f}', f'{numpy.median(one) / numpy.median(two):.2f}']
        for percentile in (50, 99):
            alone, both = (numpy.percentile(busy[runtime, threads], percentile) for threads in THREADS)
            cells += [f'{alone:.2f}', f'{both:.2f}', f'{both / alone:.2f}']
        rows.append([name, runtime, *cells])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--seconds', type=float, default=0.4, help='of a block')
    parser.add_argument('--data', type=pathlib.Path, default=peers.ROOT / '.data' / 'peers',
                        help='where the files made from the models are kept (default .data/peers)')
    args = parser.parse_args()
    peers.make_data_folder(args.data)
    torch.set_num_threads(max(THREADS))
    columns = ('model', 'runtime', 'one thread, ms', 'two: times as fast', 'busy: p50 of one', 'of two', 'ratio', 'p99 of one',
               'of two', 'ratio')
    print('| ' + ' | '.join(columns) + ' |')
    print('| --- | --- |' + ' ---: |' * 8)
    for name in MODELS:
        for row in measure(name, args):
            print('| ' + ' | '.join(row) + ' |', flush=True)


if __name__ == '__main__':
    main()
