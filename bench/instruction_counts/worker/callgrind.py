"""Instruction counts of a program that switches counting itself (driver.hpp)."""

import collections
import os
import pathlib
import re
import subprocess
import tempfile

# What makes counts repeat: dictionaries in one order, threads that sleep while they wait, and freed memory joined at
# once, not in some call out of hundreds (150,000 instructions).
STEADY = {'PYTHONHASHSEED': '0', 'OMP_WAIT_POLICY': 'passive', 'GLIBC_TUNABLES': 'glibc.malloc.mxfast=0'}

NAMED = re.compile(r'c?fn=\((\d+)\)(?: (.*))?')
COST = re.compile(r'[+\-*\d]\S* (\d+)')


def read_functions(dump: str) -> dict[str, int]:
    """Instructions in each function itself, of one dump of callgrind's: names are written once, then numbered."""
    names: dict[str, str] = {}
    counts: collections.Counter[str] = collections.Counter()
    current, of_callee = '', False
    for line in dump.splitlines():
        if named := NAMED.match(line):
            if named[2] is not None:
                names[named[1]] = named[2]
            if line.startswith('fn='):
                current = names[named[1]]
        elif line.startswith('calls='):
            of_callee = True  # the next line is the cost of the call, which the callee's own lines contain
        elif cost := COST.fullmatch(line):
            if not of_callee:
                counts[current] += int(cost[1])
            of_callee = False
    return dict(counts)


def collect(program: tuple[str, ...], number: int, repeats: int, num_threads: int) -> list[dict[str, int]]:
    """Counts by function of each collection of `number` calls."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'callgrind'
        command = ['valgrind', '--tool=callgrind', f'--callgrind-out-file={file}', '--instr-atstart=no',
                   '--collect-atstart=no', *program, '--number', str(number), '--number-warmup', '10',
                   '--repeats', str(repeats), '--number-threads', str(num_threads)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | STEADY)
        if done.returncode:
            raise RuntimeError(f'the program ended with {done.returncode} under callgrind and said: '
                               f'{done.stderr.strip()}')
        dumps = [file.with_name(f'callgrind.{i + 1}') for i in range(repeats)]
        # Functions of LibTorch with one name in several files are merged.
        return [read_functions(dump.read_text(errors='replace')) for dump in dumps]


def time_call(program: tuple[str, ...], seconds: float, num_threads: int) -> float:
    """Nanoseconds a call, without callgrind."""
    command = [*program, '--number-warmup', '10', '--seconds', str(seconds), '--number-threads', str(num_threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f'the program ended with {done.returncode} and said: {done.stderr.strip()}')
    return float(done.stdout)
