"""Instructions a call of many small computations in every runtime: the only absolute figure that is reproducible."""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

import results
from compare import compare
from core.expand import Case, materialize
from core.types import DefinitionError, Language
from definitions.standard import DEFINITIONS, QUICK, QUICK_RUNTIMES
from execution.runner import duration, run_all, say
from execution.statements import compile_statements
from execution.work import Measure, Workers


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def pattern(text: str) -> re.Pattern:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from error


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./dev bench counts', description=__doc__)
    parser.add_argument('--filter', type=pattern, default='',
                        help='only what has a name that this regular expression finds')
    parser.add_argument('--destination', type=pathlib.Path, help='write the results to this file (.json)')
    parser.add_argument('--quick', action='store_true', help="only sr's own paths, on five definitions: some minutes")
    parser.add_argument('--list', action='store_true', help='instead: print the names')
    parser.add_argument('--compare', nargs=2, type=pathlib.Path, metavar=('OLD', 'NEW'),
                        help='instead: what changed between two files; the status is 1 if something grew')
    parser.add_argument('--margin', type=float, default=0.5,
                        help='per cent by which counts may differ beside their spread (default 0.5)')
    parser.add_argument('--jobs', type=positive, default=os.cpu_count() or 1, help='workers at a time (default: cores)')
    parser.add_argument('--number', type=positive, default=100, help='calls in a collection (default 100)')
    parser.add_argument('--repeats', type=positive, default=5, help='collections (default 5)')
    parser.add_argument('--seconds', type=float, default=0.2, help='wall time that is measured beside (default 0.2)')
    parser.add_argument('--timeout', type=float, default=1800, help='seconds that a worker may take (default 1800)')
    parser.add_argument('--runner', type=pathlib.Path, default=ROOT / 'build' / 'bench' / 'bench_instruction_counts',
                        help='the program of runner.cpp (default build/bench/bench_instruction_counts)')
    parser.add_argument('--data', type=pathlib.Path, default=ROOT / '.data' / 'instruction_counts',
                        help='where models, programs and logs of failures are kept (default .data/instruction_counts)')
    return parser.parse_args()


def compare_files(old: pathlib.Path, new: pathlib.Path, margin: float) -> int:
    report, grew = compare(results.read(old), results.read(new), margin)
    print(report)
    return int(grew)


def chosen(args: argparse.Namespace) -> list[Case]:
    data = args.data.resolve()
    with_sr = importlib.util.find_spec('sr') is not None
    if not with_sr:
        say('Python does not find the package sr: its counts are those of C++ alone')
    cases = materialize(DEFINITIONS, data / 'models', args.runner.resolve(), with_sr)
    if args.quick:
        cases = [case for case in cases if ' / '.join(case.path) in QUICK
                 and case.labels.runtime in QUICK_RUNTIMES and case.labels.threads == 1
                 and case.labels.language is Language.CPP]
    cases = [case for case in cases if args.filter.search(case.name())]
    if not cases:
        raise DefinitionError(f"no name is found by '{args.filter.pattern}'; --list prints them")
    return cases


def measure(args: argparse.Namespace) -> int:
    for program in ('valgrind', 'callgrind_annotate'):
        if shutil.which(program) is None:
            raise DefinitionError(f'there is no {program} here; ./dev bench counts installs it')
    if args.destination and not args.destination.parent.is_dir():
        raise DefinitionError(f'there is no folder {args.destination.parent} to write to')
    cases = chosen(args)
    if any(case.args.program for case in cases) and not args.runner.exists():
        raise DefinitionError(f'there is no {args.runner}; ./dev bench counts builds it')
    cases = compile_statements(cases, args.data.resolve() / 'programs')
    workers = Workers(args.data.resolve() / 'logs', Measure(args.number, args.repeats, args.seconds, args.timeout))
    outcome = run_all(cases, workers, args.jobs)
    found = results.collect(outcome.results)
    if found.measured:
        print(results.table(found))
        say(f'largest spread {max(one["spread"] for one in found.measured.values()):.2%}')
    if args.destination:
        results.write(found, args.destination)
    for case, reason in outcome.failures:
        say(f'{case.name()} failed: {reason}')
    return 130 if outcome.interrupted else int(bool(outcome.failures))


def main() -> int:
    args = parse_arguments()
    try:
        if args.compare:
            return compare_files(*args.compare, args.margin / 100)
        if args.list:
            print('\n'.join(case.name() for case in chosen(args)))
            return 0
        return measure(args)
    except (DefinitionError, results.ResultError) as error:
        sys.exit(f'instruction counts: {error}')


if __name__ == '__main__':
    sys.exit(main())
