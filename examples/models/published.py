"""What the examples share: a published model with its inputs, compared with eager and timed against its rivals."""

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from sr.rivals import time_in_rounds

from rivals import RIVALS, Program, Runner, make_runner

Arguments = tuple[torch.Tensor, ...]


class Published(NamedTuple):
    program: Program
    timed: dict[str, Arguments]  # by what the table calls them
    compared: Sequence[Arguments]  # of many shapes, in the order in which they are called
    bound: float  # that no result of sr may differ from eager's by more
    # Says what the results are good for and raises AssertionError when they are not; takes any runner of the model, and
    # how far its results may be from eager's.
    judge: Callable[[Runner, float], str]
    int8_bound: float = 0.2  # as `bound`, of layers in int8


def say(text: str) -> None:
    print(f'[{time.process_time():4.0f} s] {text}', file=sys.stderr, flush=True)


def largest_difference(runner: Runner, calls: Sequence[Arguments], expected: Sequence[torch.Tensor]) -> float:
    """Of three rounds over all calls: sr records the second call of a shape and replays later ones."""
    largest = 0.0
    for _ in range(3):
        for arguments, wanted in zip(calls, expected, strict=True):
            found = runner(*arguments)
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                return float('inf')
            difference = (found - wanted).abs().max().item()
            largest = max(largest, difference if difference == difference else float('inf'))
    return largest


def make_runners(published: Published, names: Sequence[str]) -> tuple[dict[str, Runner], dict[str, str]]:
    """By name, and of those that cannot be made, why."""
    runners: dict[str, Runner] = {}
    reasons: dict[str, str] = {}
    for name in names:
        say(f'{published.program.name}: making {name}')
        try:
            runner = make_runner(name, published.program)
            for arguments in published.timed.values():
                runner(*arguments)
            runners[name] = runner
        except Exception as error:  # whatever it raises is its answer
            reasons[name] = f'{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ""}'
    return runners, reasons


def compare(published: Published, runners: dict[str, Runner], eager: Runner) -> list[str]:
    """Prints how far each is from eager; returns what is wrong with those of sr.

    Rivals are called with the shapes that are timed only: torch.compile takes half a minute for each.
    """
    failed = []
    print(f'eager: {published.judge(eager, published.bound)}')
    for name, runner in runners.items():
        if name == 'eager':
            continue
        calls = published.compared if name.startswith('sr') else list(published.timed.values())
        expected = [eager(*arguments).clone() for arguments in calls]
        difference = largest_difference(runner, calls, expected)
        print(f'{name}: differs from eager by at most {difference:.1e} in {len(calls)} calls')
        if not name.startswith('sr'):
            continue
        bound = published.int8_bound if name.endswith('int8') else published.bound
        print(f'{name}: {published.judge(runner, bound)}')
        if difference > bound:
            failed.append(f'{name} differs from eager by {difference:.1e}, more than {bound:.0e}')
    return failed


def table(published: Published, names: Sequence[str], times: dict[str, dict[str, float]]) -> str:
    """Microseconds a call, and beside them in parentheses how many times as long as the first of sr."""
    base = next((name for name in names if name.startswith('sr')), names[0])
    rows = [f"| {published.program.name} | {' | '.join(names)} |", '|---' * (len(names) + 1) + '|']
    for case, medians in times.items():
        cells = [f'{medians[name]:,.1f} ({medians[name] / medians[base]:.2f})' for name in names]
        rows.append(f"| {case} | {' | '.join(cells)} |")
    return '\n'.join(rows)


def parse_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--check', action='store_true', help='compare sr with eager; time nothing, make no rival')
    parser.add_argument('--only', action='append', choices=list(RIVALS), help='just these (eager always is)')
    parser.add_argument('--rounds', type=int, default=21, help='rounds of timing (default 21)')
    parser.add_argument('--seconds', type=float, default=0.03, help='of each runner in a round (default 0.03)')
    parser.add_argument('--report', action='store_true', help='print the reports of the modules of sr')
    return parser.parse_args()


def main(make: Callable[[], Published]) -> int:
    args = parse_arguments(make.__doc__ or '')
    torch.set_num_threads(1)
    names = args.only or [name for name in RIVALS if name.startswith('sr') or not args.check]
    with torch.no_grad():
        published = make()
        eager = published.program.module
        runners, reasons = make_runners(published, names)
        failed = compare(published, runners, eager)
        for name, reason in reasons.items():
            print(f'{name} does not run it: {reason}')
            if name.startswith('sr'):
                failed.append(f'{name} does not run it')
        if not args.check:
            say(f'{published.program.name}: timing')
            runners = {name: runners[name] for name in names if name in runners} | {'eager': eager}
            times = {case: time_in_rounds({name: functools.partial(runner, *arguments) for name, runner in runners.items()},
                                          rounds=args.rounds, seconds=args.seconds)
                     for case, arguments in published.timed.items()}
            print(f'\n{table(published, list(runners), times)}\n')
        if args.report:
            for name, runner in runners.items():
                if name.startswith('sr'):
                    print(f'{name}: {runner.report()}')  # type: ignore[attr-defined]
    for reason in failed:
        print(f'{published.program.name}: {reason}', file=sys.stderr)
    return int(bool(failed))
