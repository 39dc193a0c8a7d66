"""sr against the compiled runtimes on the same frozen weights, one thread each: a table, on demand a CSV and a plot."""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import time

import torch

import models
import report

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def say(text):
    print(f'peers: {text}', file=sys.stderr, flush=True)


def measure(name: str, args: argparse.Namespace) -> report.Measured:
    """All peers on one model, some rounds of each in turns, then again; the medians of the passes."""
    import programs  # here, so that --help and --list need no peers
    import rivals
    import sr.rivals
    from files import Files

    torch.set_num_threads(1)
    module, inputs = models.MODELS[name].make()
    files = Files(args.data, name, module, [inputs])
    calls, reasons = rivals.make_calls(files)
    flat = {key: call for peer, pair in calls.items() for key, call in zip((peer, ('floor', peer)), pair)}
    slice_seconds, passes = args.slice_ms * 1e-3, collections.defaultdict(list)

    def add(peers, time_them):
        try:
            times, why = time_them()
        except (programs.ProgramError, ValueError) as error:
            times, why = {}, {peer: str(error) for peer in peers}
        reasons.update(why)
        for peer, microseconds in times.items():
            passes[peer].append(microseconds)

    def time_sr():
        programs.check_sr(args.tool, files)
        return programs.time_sr(args.tool, files, args.rounds * slice_seconds)

    for _ in range(args.passes):
        add(('sr', 'upstream'), time_sr)
        add(('AOTInductor', 'AOTInductor arrays', 'interpreter', 'sr into', 'sr bound'),
            lambda: programs.time_runner(args.runner, files, args.rounds, slice_seconds))
        with torch.inference_mode():
            times = sr.rivals.time_in_rounds(flat, rounds=args.rounds, seconds=slice_seconds)
        for key, microseconds in times.items():
            passes[key].append(microseconds)
    medians = {peer: statistics.median(times) for peer, times in passes.items() if peer not in reasons}
    return report.Measured(name, {peer: medians[peer] for peer in report.PEERS if peer in medians},
                           {peer: medians['floor', peer] for peer in calls}, reasons)


def measure_apart(name: str, args: argparse.Namespace) -> report.Measured:
    """Runs in its own process, so that a crashing peer loses one row of the table, not all."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:
        try:
            return pool.submit(measure, name, args).result()
        except Exception as error:
            return report.Measured(name, {}, {}, {'any peer': f'{type(error).__name__}: {error}'})


def add_options(parser: argparse.ArgumentParser, rounds: int, slice_ms: float):
    """The options that this program and streams.py have in common."""
    parser.add_argument('--filter', default='', help='only models whose name this regular expression finds')
    parser.add_argument('--passes', type=int, default=3, help='how often all peers take their turn (default 3)')
    parser.add_argument('--rounds', type=int, default=rounds, help=f'interleaved rounds in a pass (default {rounds})')
    parser.add_argument('--slice-ms', type=float, default=slice_ms,
                        help=f'how long a peer is timed in a round (default {slice_ms})')
    parser.add_argument('--runner', type=pathlib.Path, default=ROOT / 'build' / 'bench' / 'bench_peers',
                        help='default build/bench/bench_peers')
    parser.add_argument('--data', type=pathlib.Path, default=ROOT / '.data' / 'peers',
                        help='where the files made from the models are kept (default .data/peers)')


def make_data_folder(path: pathlib.Path):
    path.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault('TORCHINDUCTOR_CACHE_DIR', str(path.resolve() / 'inductor'))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./dev bench peers', description=__doc__)
    # A slice is shorter than a time slice of the scheduler, so that most are not interrupted even on a busy machine.
    add_options(parser, rounds=101, slice_ms=1)
    parser.add_argument('--csv', type=pathlib.Path, help='write all figures to this file')
    parser.add_argument('--plot', type=pathlib.Path, help='draw the ratios into this file (.svg, .png, .pdf)')
    parser.add_argument('--list', action='store_true', help="instead: print the models' names")
    parser.add_argument('--tool', type=pathlib.Path, default=ROOT / 'build' / 'sr', help='default build/sr')
    return parser.parse_args()


def main():
    args = parse_arguments()
    names = [name for name in models.MODELS if re.search(args.filter, name)]
    if not names:
        sys.exit(f"peers: no model's name is found by '{args.filter}'; --list prints them")
    if args.list:
        print('\n'.join(names))
        return
    for program in (args.tool, args.runner):
        if not program.exists():
            sys.exit(f'peers: there is no {program}; ./dev bench peers builds it')
    make_data_folder(args.data)
    measured = []
    for name in names:
        start = time.monotonic()
        measured.append(measure_apart(name, args))
        say(f'{name}, {time.monotonic() - start:.0f} s')
    report.print_table(measured)
    if args.csv:
        report.write_csv(measured, args.csv)
    if args.plot:
        report.plot(measured, args.plot)


if __name__ == '__main__':
    main()
