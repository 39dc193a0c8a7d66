"""Changes between two files of results that exceed the spread of the counts: the worst first, with their functions."""

import re
from typing import Any, NamedTuple

from core.types import Path
from results import ResultError, Results

FUNCTIONS = 5  # named for each definition that grew

# The time glibc needs to find memory depends on the history of the heap, and so on the path of the program and on its
# environment: 11,407 instructions became 11,719 with nothing else changed. More calls are still detected, in malloc
# and free themselves and in their callers.
OF_THE_HEAP = re.compile(r'(_int_(malloc|free|realloc|memalign)|unlink_chunk|malloc_consolidate|sysmalloc|systrim)\b')


class Change(NamedTuple):
    name: Path
    old: float
    new: float
    allowed: float  # relative
    grown: list[tuple[str, float]]  # functions, by instructions a call

    @property
    def relative(self) -> float:
        return self.new / self.old - 1

    @property
    def significant(self) -> bool:
        return abs(self.relative) > self.allowed


def without_heap(measured: dict[str, Any]) -> float:
    """Instructions a call, without those of glibc's searches in its heap."""
    return measured['instructions'] - sum(count for name, count in measured['functions'].items()
                                          if OF_THE_HEAP.match(name))


def grown_functions(old: dict[str, float], new: dict[str, float]) -> list[tuple[str, float]]:
    growth = {name: count - old.get(name, 0) for name, count in new.items() if not OF_THE_HEAP.match(name)}
    return sorted(((name, more) for name, more in growth.items() if more > 0), key=lambda item: -item[1])[:FUNCTIONS]


def change(name: Path, old: dict[str, Any], new: dict[str, Any], margin: float) -> Change:
    """Medians that differ by less than both spreads may be of the same program; `margin` is added to the spreads."""
    return Change(name, without_heap(old), without_heap(new), max(margin, old['spread'] + new['spread']),
                  grown_functions(old['functions'], new['functions']))


def changes(old: Results, new: Results, margin: float) -> list[Change]:
    """The definitions that both files have, the worst first."""
    both = [change(name, old.measured[name], new.measured[name], margin)
            for name in old.measured if name in new.measured]
    return sorted(both, key=lambda one: -one.relative)


def shown(name: Path) -> str:
    *path, language, runtime, autograd, threads = name
    return f'{" / ".join(path)} [{language}, {runtime}, {autograd}, {threads} threads]'


def describe(found: list[Change]) -> list[str]:
    lines = []
    for one in found:
        if not one.significant:
            continue
        lines.append(f'{one.relative:+8.2%}  {one.old:,.0f} -> {one.new:,.0f}  {shown(one.name)}')
        if one.relative > 0:
            lines += [f'          {more:+,.1f} in {function}' for function, more in one.grown]
    return lines


def compare(old: Results, new: Results, margin: float) -> tuple[str, bool]:
    """The report, and whether a count grew because of the change."""
    found = changes(old, new, margin)
    if not found:
        raise ResultError('the two files have nothing in common')
    lines = describe(found)
    grew = any(one.significant and one.relative > 0 for one in found)
    lines.append(f'{len(found)} compared (without the searches of glibc in its heap), '
                 f'{sum(one.significant for one in found)} changed beyond the spread and {margin:.1%}')
    for names, what in ((old.measured.keys() - new.measured.keys(), 'only in the old results'),
                        (new.measured.keys() - old.measured.keys(), 'only in the new results')):
        lines += [f'{what}: {shown(name)}' for name in sorted(names)]
    if not old.comparable(new):
        lines.append(f'not held against the change: {old.machine} was measured before, {new.machine} now')
    return '\n'.join(lines), grew and old.comparable(new)
