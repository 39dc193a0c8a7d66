"""Random programs in eager mode, the second reference of the fuzzer: `./dev test eager`.

The interpreter is the first one, in C++. Where the two differ, eager is right.
"""

import argparse
import collections
import copy
import functools
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing

os.environ.setdefault('ONEDNN_MAX_CPU_ISA', 'AVX512_CORE_BF16')  # see leave_out_amx in main.cpp

import sr
import torch
from torch import nn


class Torch:
    """TorchScript calls every operator of ATen by `torch`, Python some of them by `torch.nn.functional`."""

    def __getattr__(self, name):
        return getattr(torch if hasattr(torch, name) else nn.functional, name)


NAMES = {'torch': Torch(), 'Tensor': torch.Tensor} | {name: getattr(typing, name)
                                                   for name in ('Dict', 'List', 'Optional', 'Tuple')}
ROUNDS = 3  # the first calls of a size run on the general path, later ones are recorded and replayed


class Program(typing.NamedTuple):
    index: int
    source: str
    archive: torch.Tensor
    attributes: tuple
    low_precision: bool
    runs: tuple


def eager_of(program: Program):
    names = dict(NAMES)
    exec(program.source, names)  # noqa: S102  of our own generator
    module = nn.Module()
    for name, value in program.attributes:
        module.register_buffer(name, value)
    return names['forward'], module


def outcome_of(call, args):
    """The result, or the exception."""
    try:
        return call(*args)
    except Exception as error:  # noqa: BLE001  any kind: the comparison looks at it
        return error


def own_lists(args) -> list:
    """The arguments with copies of lists: TorchScript and sr turn Python's lists into their own, and change only those."""
    return [list(value) if isinstance(value, list) else value for value in args]


def differs(expected, actual, rtol: float) -> str:
    """What is different, as the end of a sentence; empty if nothing is."""
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        if isinstance(expected, Exception) and isinstance(actual, Exception):
            return ''
        return f'{describe(expected)} is expected, not {describe(actual)}'
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor) or (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
            return f'{describe(expected)} is expected, not {describe(actual)}'
        return differing_values(expected, actual, rtol)
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(expected) != len(actual):
            return f'{describe(expected)} is expected, not {describe(actual)}'
        found = [differs(*pair, rtol) for pair in zip(expected, actual)]
        return next((f'{i}: {text}' for i, text in enumerate(found) if text), '')
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or expected.keys() != actual.keys():
            return f'{describe(expected)} is expected, not {describe(actual)}'
        return next((text for key in expected if (text := differs(expected[key], actual[key], rtol))), '')
    if isinstance(expected, float) and isinstance(actual, float):
        return differs(torch.tensor(expected), torch.tensor(actual), rtol)
    same = type(expected) is type(actual) and expected == actual
    return '' if same else f'{expected!r} is expected, not {actual!r}'


def differing_values(expected: torch.Tensor, actual: torch.Tensor, rtol: float) -> str:
    if expected.dtype.is_floating_point or expected.dtype.is_complex:
        wide = torch.complex128 if expected.dtype.is_complex else torch.float64
        a, b = expected.to(wide), actual.to(wide)
        finite = a[a.isfinite()].abs()
        # Sums of large terms may be near zero.
        atol = rtol * max(finite.max().item() if finite.numel() else 0.0, 0.1)
        if torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return ''
        return f'values differ by up to {(a - b).abs().nan_to_num().max().item():g}'
    return '' if torch.equal(expected, actual) else 'values differ'


def describe(value) -> str:
    if isinstance(value, torch.Tensor):
        return f'a tensor {value.dtype} {list(value.shape)}'
    if isinstance(value, Exception):
        return f'{type(value).__name__} ({str(value).strip().splitlines()[0][:120] if str(value).strip() else ""})'
    return type(value).__name__


def is_eager_python(error) -> bool:
    """Whether the program is one of Python, too: TorchScript has calls that Python does not."""
    return not isinstance(error, (TypeError, AttributeError, NameError, SyntaxError))


def indexes_by_number(program: Program) -> bool:
    """Whether a tensor without dimensions is an index: Python makes a view, TorchScript a copy, and writes differ."""
    names = re.findall(r'(\w+): ', program.source.splitlines()[0])
    numbers = {name for args in program.runs for name, value in zip(names, args)
               if isinstance(value, torch.Tensor) and value.dim() == 0}
    return any(numbers & set(re.findall(r'\w+', index)) for index in re.findall(r'\w\[(.*?)\]', program.source))


def loses_writes(program: Program, archive_code: str) -> bool:
    """True if torch.jit.script has dropped a write of the source. It removes loops that make no step only after it has
    looked which values alias. It finds none behind such a loop, so that later writes look unused."""
    written, source = (len(re.findall(r'\w_\(', text)) for text in (archive_code, program.source))
    return written < source


def is_decided_by_rounding(forward, module, args: tuple, rtol: float) -> bool:
    """True if eager differs from itself when the arguments change by about a rounding of float32: the program takes a
    branch on a sum near zero, or normalizes equal numbers. Calls copies of the module, which may have state."""
    generator = torch.Generator().manual_seed(0)

    def nudge(value):
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            return value * (1 + 1e-7 * torch.randn(value.shape, generator=generator))
        return copy.deepcopy(value)

    def call(values):
        return outcome_of(lambda *values: forward(copy.deepcopy(module), *values), values)

    expected = call(copy.deepcopy(args))
    return any(differs(expected, call([nudge(value) for value in args]), rtol) for _ in range(8))


def check(program: Program, counts: collections.Counter) -> str:
    if indexes_by_number(program):
        counts['indexed by a number'] += 1
        return ''
    forward, module = eager_of(program)
    archive = program.archive.numpy().tobytes()
    interpreted = torch.jit.load(io.BytesIO(archive))
    static = sr.load(io.BytesIO(archive))
    rtol = 3e-2 if program.low_precision else 1e-3
    for _ in range(ROUNDS):
        for run, args in enumerate(program.runs):
            expected_args, actual_args = copy.deepcopy(args), copy.deepcopy(args)
            expected = outcome_of(functools.partial(forward, module), own_lists(expected_args))
            if not is_eager_python(expected):
                counts['not Python'] += 1
                return ''
            actual = outcome_of(static, actual_args)
            counts['calls'] += 1
            text = differs(expected, actual, rtol) or differs(expected_args, actual_args, rtol)
            if text and isinstance(expected, Exception):
                # TorchScript drops statements whose result is not used. Such a statement has thrown in eager mode,
                # before later statements wrote to the arguments. sr_fuzz compares these calls with the interpreter.
                counts['exceptions of dead code'] += 1
                continue
            if not text:
                continue
            if is_decided_by_rounding(forward, module, args, rtol):
                counts['decided by rounding'] += 1
                return ''
            with torch.jit.optimized_execution(False):
                reference = outcome_of(interpreted, copy.deepcopy(args))
            if differs(reference, actual, rtol):
                return f'run {run}: {text}'
            if loses_writes(program, interpreted.code):
                counts['writes that scripting dropped'] += 1
                return ''
            counts['interpreter'] += 1
            return f'run {run}, as in the interpreter: {text}'
    return ''


def programs_of(fuzzer: pathlib.Path, seed: int, first: int, count: int):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'programs.pt'
        subprocess.run([str(fuzzer), '--export', str(file), '--seed', str(seed), '--first', str(first),
                        '--count', str(count)], check=True)
        return [Program(*fields) for fields in torch.load(file, weights_only=False)]


def main() -> int:
    parser = argparse.ArgumentParser(prog='./dev test eager', description=__doc__)
    parser.add_argument('--fuzzer', type=pathlib.Path, required=True, help='the program sr_fuzz')
    parser.add_argument('--count', type=int, default=20000, help='programs (default 20000)')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=0, help='index of the first program')
    args = parser.parse_args()
    torch.set_num_threads(1)
    counts, failed, started = collections.Counter(), 0, time.monotonic()
    chunk = 500  # programs in a file
    for first in range(args.first, args.first + args.count, chunk):
        for program in programs_of(args.fuzzer, args.seed, first, min(chunk, args.first + args.count - first)):
            counts['programs'] += 1
            if text := check(program, counts):
                failed += 1
                print(f'program {program.index}: {text}\n{program.source}', flush=True)
        print(f'{dict(counts)}, {failed} differ, {time.monotonic() - started:.0f} s', file=sys.stderr)
    print(f'{dict(counts)}, {failed} differ')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
