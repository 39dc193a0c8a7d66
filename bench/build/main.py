"""What it costs to compile programs that use sr, against one on torch/script.h; how large libsr is; how `sr` starts.

CPU seconds are those of the compiler and what it starts, memory is the peak of its largest process; each figure is the
median of the rounds, which go through all programs in turn. No compiler cache is used.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / 'tools'))

import toolchain  # noqa: E402

# Program, and its bound: a multiple of torch_program's CPU time (and memory), or absolute seconds and GB.
PROGRAMS = (
    ('torch_program', 'on torch/script.h', ''),
    ('sr_program', 'on sr/sr.hpp', '<= 0.8x, 0.8x memory'),
    ('both', 'on both', '<= 1.25x'),
    ('own_operator', 'an operator of the user', '<= 0.45x'),
    ('own_planner', 'a planner of the user', '<= 0.8x'),
    ('own_observer', 'an observer of the user', '<= 0.8x'),
    ('header_only', 'header-only, one file', '<= 130 s, 2.6 GB'),
)


def cost_of(command):
    """(CPU seconds, peak MB, lines printed) of a command that has to succeed."""
    with tempfile.TemporaryFile('w+') as said:
        process = subprocess.Popen([str(c) for c in command], stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it once more
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))}\n{text}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text.count('warning:')


def compile_times(args, work):
    compiler = toolchain.Compiler(args.torch)
    flags = [*compiler.flags, '-O2', '-Wall', '-Wextra', '-c']
    wanted = [p for p in PROGRAMS if p[0] == 'torch_program' or not args.only or p[0] in args.only]
    found = {name: [] for name, _, _ in wanted}
    for round_ in range(args.rounds):
        for name, _, _ in wanted:
            print(f'round {round_ + 1} of {args.rounds}: {name}', file=sys.stderr, flush=True)
            found[name].append(cost_of([*compiler.command, *flags, HERE / f'{name}.cpp', '-o', work / 'program.o']))
    print('| program | CPU s | MB | CPU / torch | MB / torch | warnings | wanted |\n|---|---|---|---|---|---|---|')
    base = [statistics.median(costs) for costs in zip(*found['torch_program'])]
    for name, what, bound in wanted:
        seconds, memory, warnings = (statistics.median(costs) for costs in zip(*found[name]))
        print(f'| {what} (`{name}.cpp`) | {seconds:.1f} | {memory:.0f} | {seconds / base[0]:.2f} | {memory / base[1]:.2f} | '
              f'{warnings:.0f} | {bound} |')


def whole(library, copy):
    """Copies the library and returns its size; Ninja's archives are thin, so their members are put into the copy."""
    if library.suffix == '.a':
        members = subprocess.run(['ar', 't', library], check=True, capture_output=True, text=True).stdout.split()
        subprocess.run(['ar', 'cr', copy, *members], check=True, cwd=library.parent)
    else:
        shutil.copy(library, copy)
    return copy.stat().st_size


def library(build, work):
    for name in ('src/libsr.so', 'src/libsr_static.a'):
        path = (build / name).resolve()
        if not path.exists():
            continue
        stripped = work / ('stripped' + path.suffix)
        size = whole(path, stripped)
        subprocess.run(['strip', '--strip-unneeded', stripped], check=True)
        print(f'{name}: {size / 2**20:.1f} MiB, stripped {stripped.stat().st_size / 2**20:.1f} MiB')


def start_up(build):
    for verb, rounds in ((['--version'], 21), (['--help'], 21), (['ops'], 5)):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            subprocess.run([build / 'sr', *verb], check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
        print(f'sr {" ".join(verb)}: {1e3 * statistics.median(times):.0f} ms')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, type=pathlib.Path, help='directory of LibTorch')
    parser.add_argument('--build', required=True, type=pathlib.Path, help='build directory with libsr and the tool')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', action='append', choices=[name for name, _, _ in PROGRAMS], help='and torch_program')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        compile_times(args, pathlib.Path(work))
        print()
        library(args.build, pathlib.Path(work))
        start_up(args.build)


if __name__ == '__main__':
    main()
