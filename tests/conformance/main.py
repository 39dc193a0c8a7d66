"""Every operator of PyTorch's own database, in sr against the interpreter and eager."""

import argparse
import json
import math
import pathlib
import random
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

import baseline
import summary
from entry_check import names
from pool import check_all
from worker import load_bridge


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./dev test conformance', description=__doc__)
    parser.add_argument('--filter', type=re.compile, default=re.compile(''),
                        help='only entries whose name this regular expression finds')
    parser.add_argument('--fraction', type=float, default=1.0, help='of the entries, chosen by the seed (default 1)')
    parser.add_argument('--seed', type=int, default=1, help='which entries a fraction is (default 1)')
    parser.add_argument('--jobs', type=int, default=1, help='workers at a time (default 1)')
    parser.add_argument('--timeout', type=float, default=900, help='seconds for an entry (default 900)')
    parser.add_argument('--list', action='store_true', help='instead: print the names')
    parser.add_argument('--reasons', type=pathlib.Path, metavar='FILE',
                        help='write what could not be compared in full, and why, to this file')
    parser.add_argument('--records', type=pathlib.Path, metavar='FILE', help='write all that was found (JSON lines)')
    parser.add_argument('--write-baseline', action='store_true', help='what is found now is what is expected')
    parser.add_argument('--bridge', type=pathlib.Path,
                        default=ROOT / 'build' / 'tests' / 'conformance' / 'sr_bridge.so',
                        help='the module of bridge.cpp (default that of build/)')
    return parser.parse_args()


def say(text: str):
    print(f'conformance: {text}', file=sys.stderr, flush=True)


def chosen(args: argparse.Namespace) -> list[str]:
    found = [name for name in names() if args.filter.search(name)]
    if args.fraction >= 1:
        return found
    random.Random(args.seed).shuffle(found)
    return sorted(found[:math.ceil(args.fraction * len(found))])


def run(args: argparse.Namespace, entries: list[str]) -> list[dict]:
    records = []
    worker = pathlib.Path(__file__).with_name('worker.py')
    command = (sys.executable, str(worker), str(args.bridge.resolve()))
    start = time.monotonic()
    sink = args.records.open('w') if args.records else None
    for record in check_all(entries, command, args.jobs, args.timeout):
        records.append(record)
        if sink:
            print(json.dumps(record), file=sink, flush=True)
        say(f'{len(records)}/{len(entries)} {record["entry"]}: {summary.state_of(record)}'
            f', {time.monotonic() - start:.0f} s')
        for text in summary.failures(record)[:4]:
            say(text)
    return records


def main() -> int:
    args = parse_arguments()
    entries = chosen(args)
    if not entries:
        sys.exit(f"conformance: no entry is found by '{args.filter.pattern}'; --list prints them")
    if args.list:
        print('\n'.join(entries))
        return 0
    if not args.bridge.exists():
        sys.exit(f'conformance: there is no {args.bridge}; ./dev test conformance builds it')
    try:
        registered = load_bridge(str(args.bridge)).registered()
    except ImportError as error:
        sys.exit(f'conformance: {args.bridge} cannot be loaded: {error}')
    records = run(args, entries)
    if args.reasons:
        args.reasons.write_text('\n'.join(summary.listed(records)) + '\n')
    print(summary.table(records))
    bad = [record for record in records if summary.failures(record)]
    if len(records) == len(names()):
        missed = summary.unmet(records, registered)
        print(f'functors no graph came to      {len(missed)}')
        for text in missed:
            say(f'no graph came to {text}')
    if args.write_baseline:
        baseline.write(records)
        return int(bool(bad))
    expected = baseline.read()
    worse = [f'{record["entry"]}: {text}' for record in records if 'failed' not in record
             for text in baseline.deviations(record, expected)]
    for text in worse:
        say(text)
    print(f'{len(records) - len(bad)} of {len(records)} entries agree, {len(worse)} fall behind the baseline')
    return int(bool(bad or worse))


if __name__ == '__main__':
    sys.exit(main())
