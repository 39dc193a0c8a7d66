"""sr against ONNX Runtime and AOTInductor on calls whose sizes vary, one thread each: a table in Markdown.

A round of a peer is the whole stream, so that all see the same sizes. bench_peers, a C++ program, times AOTInductor (its
package loader), the interpreter and sr. ONNX Runtime, and sr once more, are timed in this process.
"""

import argparse
import pathlib
import random
import re
import statistics
import sys
import time
from typing import Callable, NamedTuple

import torch
from sr.rivals import onnx_session, time_in_rounds

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
    """Replaces each call's arguments by the first rows of the largest call's, so that all lie in the same memory."""
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
    """The sizes of the calls. They begin at 2, since torch.export treats size 1 as a constant."""
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
    session = onnx_session(files.onnx())
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
        with torch.inference_mode():
            turns = time_in_rounds({'sr': turn_of_sr(files), 'onnx': turn_of_onnx_runtime(files)}, rounds=args.rounds,
                                   seconds=seconds)
        ours, onnx = (microseconds / len(files.calls) for microseconds in turns.values())
        passes.append((times['sr'], times['interpreter'] / times['sr'],
                       times.get('AOTInductor', float('nan')) / times['sr'], ours, onnx / ours))
    return [name, stream, *(f'{statistics.median(column):.2f}' for column in zip(*passes))]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./dev bench peers streams', description=__doc__)
    peers.add_options(parser, rounds=15, slice_ms=10)
    return parser.parse_args()


def main():
    args = parse_arguments()
    peers.make_data_folder(args.data)
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
