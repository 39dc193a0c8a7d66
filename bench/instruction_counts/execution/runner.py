"""Runs jobs on all cores, with progress and an estimate; Ctrl-C keeps finished results."""

import concurrent.futures
import sys
import time
from typing import Any, NamedTuple

from core.expand import Case
from execution.work import WorkerError, Workers


class Outcome(NamedTuple):
    results: list[tuple[Case, dict[str, Any]]]  # in the order of the cases
    failures: list[tuple[Case, str]]
    interrupted: bool


def say(text: str):
    print(f'instruction counts: {text}', file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    return f'{seconds:.0f} s' if seconds < 100 else f'{seconds / 60:.0f} min'


def progress(done: int, count: int, case: Case, said: str, start: float):
    left = (time.monotonic() - start) / done * (count - done)
    say(f'{done}/{count} {case.name()}: {said}' + (f'; about {duration(left)} left' if done < count else ''))


def told(measured: dict[str, Any]) -> str:
    return f'{measured["instructions"]:,.0f} instructions a call, spread {measured["spread"]:.2%}'


def run_all(cases: list[Case], workers: Workers, jobs: int) -> Outcome:
    start, measured, failed = time.monotonic(), {}, {}
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    futures = {pool.submit(workers.run, case): i for i, case in enumerate(cases)}
    interrupted = False

    def take(future: concurrent.futures.Future) -> str:
        i = futures[future]
        try:
            measured[i] = future.result()
        except WorkerError as error:
            failed[i] = str(error)
            return 'failed'
        return told(measured[i])

    try:
        for future in concurrent.futures.as_completed(futures):
            said = take(future)
            progress(len(measured) + len(failed), len(cases), cases[futures[future]], said, start)
    except KeyboardInterrupt:
        interrupted = True
        for future in futures:  # those that ended meanwhile
            if future.done() and not future.cancelled() and futures[future] not in measured:
                take(future)
        say(f'stopped; {len(measured)} of {len(cases)} are measured')
        workers.stop()
    finally:
        pool.shutdown(cancel_futures=True)
    return Outcome([(cases[i], measured[i]) for i in sorted(measured)],
                   [(cases[i], failed[i]) for i in sorted(failed)], interrupted)
