"""What was checked, in counts, and the list of what could not be."""

import collections
from typing import Any


def share(record: dict[str, Any], form: str) -> tuple[int, int]:
    count = record['forms'].get(form, {'exported': 0, 'samples': 0})
    return count['exported'], count['samples']


def state_of(record: dict[str, Any]) -> str:
    if 'failed' in record:
        return 'failed'
    if record['wrong']:
        return 'wrong'
    exported = [share(record, form)[0] for form in record['forms']]
    return 'agrees' if any(exported) else 'not exportable'


def table(records: list[dict[str, Any]]) -> str:
    done = [record for record in records if 'failed' not in record]
    states = collections.Counter(map(state_of, records))
    lines = [f'entries                       {len(records)}']
    lines += [f'  {state:<27} {states[state]}' for state in ('agrees', 'wrong', 'failed', 'not exportable')]
    for form in ('traced', 'traced in place', 'scripted'):
        counts = [share(record, form) for record in done]
        entries = sum(exported > 0 for exported, _ in counts)
        lines.append(f'{form:<29} {sum(c[0] for c in counts)} of {sum(c[1] for c in counts)} samples, '
                     f'of {entries} entries')
    for name, key in (('graphs', 'graphs'), ('calls of sr', 'runs'), ('inputs the interpreter refuses', 'throws')):
        lines.append(f'{name:<29} {sum(record[key] for record in done)}')
    for name, key in (('draw random numbers', 'random'), ('uninitialised, no values', 'uninitialised')):
        lines.append(f'{name:<29} {sum(record[key] for record in done)} entries')
    differing = [record for record in done if record['not_eager']]
    lines.append(f'interpreter differs from eager {len(differing)} entries')
    for name, key in (('strides differ from the interpreter', 'strides'),
                      ('equal within tolerances only', 'rounding'),
                      ('the interpreter does not repeat itself', 'unrepeatable'),
                      ('a rounding of an argument decides', 'ill_conditioned'),
                      ('fast kernels are near to double alone', 'nearer'), ('own samples alone', 'own_samples')):
        lines.append(f'{name}: {sum(bool(record[key]) for record in done)} entries')
    return '\n'.join(lines)


def listed(records: list[dict[str, Any]]) -> list[str]:
    """Everything that was not compared with eager in full, and why."""
    lines = []
    for record in sorted(records, key=lambda record: record['entry']):
        if 'failed' in record:
            continue
        if record['uninitialised']:
            lines.append(f'{record["entry"]}: values are uninitialised, so dtypes and sizes alone are compared')
        if record['random']:
            lines.append(f'{record["entry"]}: draws random numbers, compared with the interpreter under the same seed; '
                         'of eager dtypes and sizes alone')
        if record['own_samples']:
            why = record.get('crashed', 'its arguments are not checked')
            lines.append(f'{record["entry"]}: only its own samples, since LibTorch does not survive others: {why}')
        for kind, said in (('strides', "strides differ from the interpreter's"),
                           ('rounding', "exact runtimes are within tolerances of the interpreter"),
                           ('unrepeatable', 'the interpreter does not repeat itself'),
                           ('ill_conditioned', 'fast kernels differ as much as the interpreter does from itself when '
                                               'its arguments are a rounding away'),
                           ('nearer', "fast kernels are within tolerances of the interpreter's result in double alone")):
            for what, times in first_lines(record[kind]):
                lines.append(f'{record["entry"]}: {said} ({times} times): {what}')
        for form, count in record['forms'].items():
            for reason, times in count['reasons'].items():
                lines.append(f'{record["entry"]}: {form}: {times} of {count["samples"]} samples do not export: '
                             f'{reason}')
        for what, times in first_lines(record['not_eager']):
            lines.append(f'{record["entry"]}: the interpreter differs from eager ({times} times): {what}')
    return lines


def first_lines(notes: list[dict[str, str]]) -> list[tuple[str, int]]:
    return collections.Counter(one['what'].splitlines()[0][:200] for one in notes).most_common(3)


def failures(record: dict[str, Any]) -> list[str]:
    if 'failed' in record:
        return [f'{record["entry"]}: {record["failed"]}']
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for one in record['wrong']:
        found.setdefault((one['graph'], one['what']), []).append(one)
    return [f'{record["entry"]}, {graph}: {what}\n'
            + ''.join(f'  with {one["configuration"]}' + (f', of {one["inputs"]}' if 'inputs' in one else '') + '\n'
                      for one in ones) + ones[0]['ir'] for (graph, what), ones in found.items()]


def unmet(records: list[dict[str, Any]], registered: list[tuple[str, str, str]]) -> list[str]:
    """Functors that no graph came to."""
    met = {(key, path) for record in records for key, path, _ in record.get('paths', ())}
    return [f'{key} ({path}, {functor})' for key, path, functor in registered if (key, path) not in met]
