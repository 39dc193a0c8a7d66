"""sr against ONNX Runtime and AOTInductor on calls whose sizes vary, one thread each: a table in Markdown.

Every row is one process. A round of a peer is the whole stream, so that all see the same sizes. AOTInductor, the
interpreter and sr are timed by bench_peers (C++, the package loader); ONNX Runtime and sr once more from Python.
"""

import argparse
import os
import pathlib
import random
import re
import statistics
import sys
import time
from typing import Callable, NamedTuple

import torch

import main as peers
import programs
import rivals
from files import Files
from models import DeepWide, Dlrm, SEED, deep_wide_inputs, dlrm_inputs, tower, transformer

MOST = 256


class Sized(NamedTuple):
    module: Callable[[], torch.nn.Module]
    inputs: Callable[[int], tuple[torch.Tensor, ...]]
    calls: int = 128


def rows_of(width: int):
    return lambda n: (torch.randn(n, width),)


def in_same_memory(calls: list) -> list:
    """The calls' arguments as the first rows of the largest ones, as those of a server are that reads into one buffer."""
    largest = max(calls, key=lambda call: call[0].shape[0])
    return [tuple(tensor[:call[0].shape[0]] for tensor in largest) for call in calls]


MODELS = {
    'deep and wide, batch': Sized(DeepWide, deep_wide_inputs),
    'MLP 256-512-256-10, batch': Sized(lambda: tower(256, 512, 256, 10), rows_of(256)),
    'DLRM 26x64, batch': Sized(Dlrm, dlrm_inputs, 64),
    'transformer block 128, length': Sized(lambda: transformer(1, 128, 4, 512), rows_of(128), 64),
    'BERT of 6 layers 384, length': Sized(lambda: transformer(6, 384, 6, 1536), rows_of(384), 24),
}


def sizes(stream: str, count: int) -> list[int]:
    """From 2 on: torch.export makes a program of its own for size 1."""
    choice = random.Random(SEED)
    values = range(2, MOST + 1)
    if stream == 'uniform':
        return choice.choices(values, k=count)
    if stream == 'Zipf':
        return choice.choices(values, [1 / n for n in values], k=count)
    return choice.sample(values, count)


def make_files(name: str, stream: str, root: pathlib.Path) -> Files:
    torch.manual_seed(SEED)
    model = MODELS[name]
    module = model.module().eval().requires_grad_(False)
    calls = in_same_memory([model.inputs(n) for n in sizes(stream, model.calls)])
    size = torch.export.Dim('n', min=2, max=MOST)
    label = re.sub(r'\W+', '_', f'{name} {stream}')
    return Files(root, label, module, calls, dynamic_shapes=tuple({0: size} for _ in calls[0]))


def in_turn(call: Callable, calls: list, expected: list[torch.Tensor]) -> rivals.Call:
    for arguments, wanted in zip(calls, expected):
        rivals.check(torch.as_tensor(call(arguments)), wanted)

    def turn():
        for arguments in calls:
            call(arguments)

    return turn


def turn_of_onnx_runtime(files: Files) -> rivals.Call:
    session = rivals.onnx_session(files.onnx())
    names = [wanted.name for wanted in session.get_inputs()]
    calls = [dict(zip(names, (tensor.numpy() for tensor in call))) for call in files.calls]
    return in_turn(lambda named: session.run(None, named)[0], calls, files.expected_of_calls)


def turn_of_sr(files: Files) -> rivals.Call:
    import sr

    module = sr.load(str(files.script))
    return in_turn(lambda call: module(*call), files.calls, files.expected_of_calls)


def measure(name: str, stream: str, args: argparse.Namespace) -> list[str]:
    torch.set_num_threads(1)
    files = make_files(name, stream, args.data)
    seconds, passes = args.slice_ms * 1e-3, []
    for _ in range(args.passes):
        times, reasons = programs.time_runner(args.runner, files, args.rounds, seconds, ours=('sr',), libraries=False)
        for peer, why in reasons.items():
            peers.say(f'{name}, {stream}: no figure of {peer}: {why}')
        ours, onnx = (microseconds / len(files.calls) for microseconds in rivals.time_in_rounds(
            [turn_of_sr(files), turn_of_onnx_runtime(files)], args.rounds, seconds))
        passes.append((times['sr'], times['interpreter'] / times['sr'],
                       times.get('AOTInductor', float('nan')) / times['sr'], ours, onnx / ours))
    return [name, stream, *(f'{statistics.median(column):.2f}' for column in zip(*passes))]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./dev bench --peers --streams', description=__doc__)
    parser.add_argument('--filter', default='', help='only models whose name this regular expression finds')
    parser.add_argument('--passes', type=int, default=3, help='how often all peers take their turn (default 3)')
    parser.add_argument('--rounds', type=int, default=15, help='interleaved rounds in a pass (default 15)')
    parser.add_argument('--slice-ms', type=float, default=10, help='the least time of a round (default 10)')
    parser.add_argument('--runner', type=pathlib.Path, default=peers.ROOT / 'build' / 'bench' / 'bench_peers')
    parser.add_argument('--data', type=pathlib.Path, default=peers.ROOT / '.data' / 'peers')
    return parser.parse_args()


def main():
    args = parse_arguments()
    args.data.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault('TORCHINDUCTOR_CACHE_DIR', str(args.data.resolve() / 'inductor'))
    print('| model | sizes | sr, us a call | interpreter / | AOTInductor / | sr from Python, us | ONNX Runtime / |')
    print('| --- | --- | ---: | ---: | ---: | ---: | ---: |')
    for name in MODELS:
        if not re.search(args.filter, name):
            continue
        for stream in ('uniform', 'Zipf', 'each once'):
            start = time.monotonic()
            print('|', ' | '.join(measure(name, stream, args)), '|', flush=True)
            peers.say(f'{name}, {stream}, {time.monotonic() - start:.0f} s')


if __name__ == '__main__':
    sys.exit(main())
