"""Measures one TimerArgs: `main.py REQUEST.json RESULT.json`. Knows nothing of the suite it is part of.

A request holds `args` and how to measure: `number` of calls in a collection, `repeats` collections, `seconds` of wall
time. A statement becomes a torch.utils.benchmark.Timer, a program is run as it is.
"""

import collections
import json
import os
import pathlib
import re
import statistics
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from core.api import TimerArgs
from core.types import Language
from worker import callgrind

KEPT = 1e-3  # of all instructions: functions with less are left out
FILE = re.compile(r'^.*?:(?!:)')  # of 'file:function'; it differs with where LibTorch was built


def measure_statement(args: TimerArgs, request: dict[str, Any]) -> tuple[float, list[dict[str, int]]]:
    from torch.utils.benchmark import CallgrindStats, Timer

    python = args.language is Language.PYTHON
    timer = Timer(args.stmt, args.setup, args.global_setup, num_threads=args.num_threads,
                  language='python' if python else 'c++')
    seconds = timer.blocked_autorange(min_run_time=request['seconds']).median
    os.environ |= callgrind.STEADY
    # The cost of the loop is subtracted if it is more than a few instructions.
    collections_ = timer.collect_callgrind(number=request['number'], repeats=request['repeats'],
                                           collect_baseline=python)
    counts = []
    for stats in map(CallgrindStats.as_standardized, collections_):
        functions: collections.Counter[str] = collections.Counter()
        for count in stats.stmt_exclusive_stats - stats.baseline_exclusive_stats:
            functions[FILE.sub('', count.function)] += count.count
        counts.append(functions)
    return seconds * 1e9, counts


def measure_program(args: TimerArgs, request: dict[str, Any]) -> tuple[float, list[dict[str, int]]]:
    return (callgrind.time_call(args.program, request['seconds'], args.num_threads),
            callgrind.collect(args.program, request['number'], request['repeats'], args.num_threads))


def summary(wall_ns: float, counts: list[dict[str, int]], number: int) -> dict[str, Any]:
    """Per call: the median collection, all of them, how far they are apart, and the functions of the median."""
    totals = [sum(functions.values()) / number for functions in counts]
    median = statistics.median_low(totals)
    if median <= 0:
        raise RuntimeError('nothing was counted: the compiler dropped the statement, or another thread ran it')
    functions = [(name, count / number) for name, count in counts[totals.index(median)].items()]
    kept = [(name, count) for name, count in functions if abs(count) >= KEPT * median]
    return {'wall_ns': wall_ns, 'instructions': median, 'collections': totals,
            'spread': (max(totals) - min(totals)) / median,
            'functions': dict(sorted(kept, key=lambda item: -item[1]))}


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: main.py REQUEST.json RESULT.json')
    request = json.loads(pathlib.Path(sys.argv[1]).read_text())
    args = TimerArgs.from_json(request['args'])
    # Callgrind starts `python` by name, the compiler of statements `ninja`.
    os.environ['PATH'] = f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}'
    measure = measure_program if args.program else measure_statement
    result = pathlib.Path(sys.argv[2])
    part = result.with_suffix('.part')  # a result file is complete or does not exist
    part.write_text(json.dumps(summary(*measure(args, request), request['number'])))
    part.rename(result)


if __name__ == '__main__':
    main()
