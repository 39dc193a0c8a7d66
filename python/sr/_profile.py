"""Where the time of calls goes."""

import json
import math
import os
import time
from collections.abc import Callable
from typing import Any

from ._report import Page


def _scaled(seconds: float) -> str:
    for factor, unit in (1, 's'), (1e3, 'ms'), (1e6, 'us'):
        if seconds * factor >= 1:
            return f'{seconds * factor:.3g} {unit}'
    return f'{seconds * 1e9:.3g} ns'


def _table(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return '\n'.join(f'{a:>{widths[0]}}  {b:>{widths[1]}}  {c}' for a, b, c in rows)


class Profile(Page):
    """A dictionary that prints as a table: the steps of the plans that answered, with the operators in each.

    Notebooks show it as a page; `save_html` writes that. `programs` is a list of {'arguments', 'block', 'seconds', 'steps'};
    a step is {'kind', 'ops', 'seconds'}. Plans of branches and loops that data decide about have the name of the `block`,
    and times of its runs. The list is empty where calls are not replayed. `call_seconds` is the median time of a call from
    Python.
    """

    def __repr__(self) -> str:
        if not self['programs']:
            return f"{_scaled(self['call_seconds'])} a call, which is not replayed; the report says why."
        parts = []
        for program in self['programs']:
            total = program['seconds']
            rows = [('time', 'share', 'step')]
            for step in program['steps']:
                share = step['seconds'] / total if total else 0
                rows.append((_scaled(step['seconds']), f'{100 * share:.1f} %', _label(step)))
            head = (f"Steps of a run of {program['block']}, which reads ({program['arguments']}), {_scaled(total)}"
                    if program['block'] else f"Steps of the replay of ({program['arguments']}), {_scaled(total)} of the "
                    f"{_scaled(self['call_seconds'])} of a call")
            parts.append(f'{head}:\n{_table(rows)}')
        return '\n\n'.join(parts)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the steps, one behind the other, as a trace that Perfetto and chrome://tracing show.

        For a real timeline, with threads and torch's own operators, use `module.profiled()` within `torch.profiler`.
        """
        events: list[dict[str, Any]] = []
        for track, program in enumerate(self['programs']):
            begin = 0.0
            events.append({'ph': 'M', 'name': 'thread_name', 'pid': 0, 'tid': track,
                           'args': {'name': f"replay of ({program['arguments']})"}})
            for step in program['steps']:
                duration = step['seconds'] * 1e6
                events.append({'ph': 'X', 'pid': 0, 'tid': track, 'ts': begin, 'dur': duration, 'name': _label(step),
                               'cat': step['kind'], 'args': {'ops': step['ops']}})
                begin += duration
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': events, 'displayTimeUnit': 'ns'}, file)


def _label(step: dict[str, Any]) -> str:
    return f"{step['kind']}: {', '.join(step['ops'])}" if step['ops'] else str(step['kind'])


class Timing(dict[str, Any]):
    """A dictionary that prints as a line: `calls`, how many of them were `replayed`, and seconds of one call.

    The seconds are `median`, `mean`, `min`, `p90`, `p99` and `max`.
    """

    def __repr__(self) -> str:
        times = ', '.join(f'{name} {_scaled(self[name])}' for name in ('median', 'p90', 'p99', 'max'))
        return f"{self['calls']} calls, {self['replayed']} replayed: {times}"


def time_calls(call: Callable[[], Any], calls: int, replayed: Callable[[], int]) -> Timing:
    """Times each call by itself; `replayed` counts replays."""
    times, before, now = [0] * calls, replayed(), time.perf_counter_ns
    for i in range(calls):
        begin = now()
        call()
        times[i] = now() - begin
    times.sort()

    def rank(part: float) -> float:
        return times[max(0, math.ceil(part * calls) - 1)] * 1e-9

    return Timing(calls=calls, replayed=replayed() - before, median=rank(0.5), mean=sum(times) / calls * 1e-9,
                  min=times[0] * 1e-9, p90=rank(0.9), p99=rank(0.99), max=times[-1] * 1e-9)
