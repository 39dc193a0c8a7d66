"""Runners timed in turns, so that what else the machine does meets all of them."""

import gc
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any


def seconds_of(runner: Callable[..., Any], arguments: tuple[Any, ...], times: int) -> float:
    start = time.perf_counter()
    for _ in itertools.repeat(None, times):
        runner(*arguments)
    return time.perf_counter() - start


def calls_in(runner: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> int:
    """How many calls take about `seconds`; warms up on the way."""
    times = 4  # the shape is known to all afterwards: sr replays from the third on
    while (taken := seconds_of(runner, arguments, times)) < seconds / 4:
        times *= 2
    return max(1, round(times * seconds / taken))


def time_in_rounds(runners: dict[str, Callable[..., Any]], arguments: tuple[Any, ...], rounds: int,
                   seconds: float) -> dict[str, float]:
    """Median microseconds a call. Every round begins with another, for each finds the caches as others left them."""
    names = list(runners)
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.disable()
    counts = {name: calls_in(runner, arguments, seconds) for name, runner in runners.items()}
    for i in range(rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            seconds_of(runners[name], arguments, max(1, counts[name] // 16))
            times[name].append(seconds_of(runners[name], arguments, counts[name]) / counts[name] * 1e6)
    gc.enable()
    return {name: statistics.median(taken) for name, taken in times.items()}
