"""What is expected of each entry: how many samples export, and how often the interpreter itself differs from eager."""

import json
import pathlib
from typing import Any

import torch

PATH = pathlib.Path(__file__).with_name('baseline.json')


def expectation(record: dict[str, Any]) -> dict[str, Any]:
    forms = {form: [count['exported'], count['samples']] for form, count in sorted(record['forms'].items())}
    return {'exported': forms, 'not_eager': len(record['not_eager']), 'strides': len(record['strides']),
            'rounds': bool(record['rounding']), 'ill_conditioned': bool(record['ill_conditioned'])}


def write(records: list[dict[str, Any]], path: pathlib.Path = PATH):
    """One line an entry, so that changes are seen."""
    lines = [f'  {json.dumps(one["entry"])}: {json.dumps(expectation(one))}'
             for one in sorted(records, key=lambda one: one['entry']) if 'failed' not in one]
    path.write_text(f'{{"torch": {json.dumps(version())}, "entries": {{\n' + ',\n'.join(lines) + '\n}}\n')


def read(path: pathlib.Path = PATH) -> dict[str, Any]:
    return json.loads(path.read_text())


def version() -> str:
    return torch.__version__.split('+')[0]


def deviations(record: dict[str, Any], baseline: dict[str, Any]) -> list[str]:
    """Where an entry does worse than expected, in sentences. Of another LibTorch nothing is expected."""
    if baseline['torch'] != version():
        return []
    expected = baseline['entries'].get(record['entry'])
    if expected is None:
        return ['is not in the baseline; --write-baseline adds it']
    found = []
    actual = expectation(record)
    for form, (exported, samples) in expected['exported'].items():
        now, of = actual['exported'].get(form, (0, 0))
        if now < exported or of < samples:
            found.append(f'{form}: {now} of {of} samples export; expected {exported} of {samples}')
    if actual['not_eager'] > expected['not_eager']:
        found.append(f'the interpreter differs from eager {actual["not_eager"]} times; expected '
                     f'{expected["not_eager"]}, and what is new is: {record["not_eager"][-1]["what"]}')
    if actual['strides'] > expected['strides']:
        found.append(f'strides differ {actual["strides"]} times; expected {expected["strides"]}, and what is new is: '
                     f'{record["strides"][-1]["what"]}')
    if actual['rounds'] and not expected['rounds']:
        found.append(f'rounds in another way than the interpreter: {record["rounding"][-1]["what"]}')
    if actual['ill_conditioned'] and not expected.get('ill_conditioned', False):
        found.append(f'is decided by a rounding of its arguments: {record["ill_conditioned"][-1]["what"]}')
    return found
