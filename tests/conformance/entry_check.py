"""Everything that is asked of one entry, as a record that goes from a worker to its parent."""

import time
from collections.abc import Callable
from typing import Any

from check import Findings, check
from entries import UNCHECKED, UNINITIALISED, database, quiet
from groups import Group, export_entry, export_program, strangers
from programs import PROGRAMS
from schedule import tour

def names() -> list[str]:
    return sorted(database()) + sorted(PROGRAMS)


def check_entry(bridge: Any, name: str, at: Callable[[str], None] = lambda text: None,
                own_samples: bool = False) -> dict[str, Any]:
    """`own_samples`: no others, and no other layouts."""
    start = time.monotonic()
    op = database().get(name)
    values = op is None or op.name not in UNINITIALISED
    own_samples |= name in UNCHECKED
    record: dict[str, Any] = {'entry': name, 'uninitialised': not values, 'random': False, 'graphs': 0, 'runs': 0,
                              'throws': 0, 'wrong': [], 'strides': [], 'rounding': [], 'unrepeatable': [],
                              'ill_conditioned': [], 'nearer': [], 'not_eager': [], 'paths': set(),
                              'own_samples': own_samples}
    with quiet():
        exports = export_program(name) if op is None else export_entry(op, at)
        for key, group in exports.groups.items():
            told = f'{group.exported.form} {group.members[0].sample.name} ({key})'
            random = draws_random_numbers(group)
            record['random'] |= random
            others = [] if own_samples else strangers(group, exports)
            schedule = list(tour(group.members, others, layouts=not own_samples))
            found = check(bridge, group.exported.script, schedule, values, random,
                          at=lambda text: at(f'{told}: {text}'))
            add(record, found, group, told)
    record['forms'] = {form: {'samples': count.samples, 'exported': count.exported, 'reasons': dict(count.reasons)}
                       for form, count in exports.counts.items()}
    record['paths'] = sorted(record['paths'])
    record['seconds'] = round(time.monotonic() - start, 2)
    return record


def draws_random_numbers(group: Group) -> bool:
    return any(tag in group.exported.script.graph.str(False) for tag in RANDOM)


# With the same seed the interpreter's numbers are wanted; eager's dtypes and sizes.
RANDOM = ('aten::bernoulli', 'aten::rand', 'aten::normal', 'aten::multinomial', 'aten::dropout', 'aten::exponential',
          'aten::uniform', 'aten::cauchy', 'aten::geometric', 'aten::log_normal', 'aten::random', 'aten::rrelu',
          'aten::poisson', 'aten::alpha_dropout', 'aten::feature_dropout', 'aten::feature_alpha_dropout')


def add(record: dict[str, Any], found: Findings, group: Group, told: str):
    record['graphs'] += 1
    record['runs'] += found.runs
    record['throws'] += found.throws
    record['paths'] |= found.paths
    graph = group.exported.script.graph.str(False)
    record['wrong'] += [{'graph': told, 'ir': graph, **one} for one in found.wrong]
    for kind in ('strides', 'rounding', 'unrepeatable', 'ill_conditioned', 'nearer', 'not_eager'):
        record[kind] += [{'graph': told, **one} for one in getattr(found, kind)]
