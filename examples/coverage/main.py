"""Loads published architectures through torch.export, compares every call with eager's, and times them.

Each runs in its own process (measure.py). The table says what was found; --json keeps it."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

from architectures import BY_NAME
from table import table, verdict

FOLDER = pathlib.Path(__file__).resolve().parent


def say(text: str) -> None:
    print(f'coverage: {text}', file=sys.stderr, flush=True)


def measure_apart(name: str, options: argparse.Namespace) -> dict:
    command = [sys.executable, str(FOLDER / 'measure.py'), name, str(options.rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {'name': name, 'refused_by': 'time', 'reason': f'It took more than {options.timeout} seconds.'}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        reason = (done.stderr.strip().splitlines() or ['nothing said'])[-1][:300]
        return {'name': name, 'refused_by': 'crash', 'reason': reason, 'code': done.returncode}
    return json.loads(lines[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--filter', type=re.compile, default=re.compile(''), help='only those whose package/name it finds')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--timeout', type=int, default=600, help='seconds for one architecture')
    parser.add_argument('--json', type=pathlib.Path,
                        help='where to keep what was found, a line each; what is there is not measured again')
    options = parser.parse_args()
    names = [name for name in BY_NAME if options.filter.search(name)]
    if options.list:
        print('\n'.join(names))
        return 0
    known = {}
    if options.json and options.json.exists():
        known = {found['name']: found for line in options.json.read_text().splitlines() if (found := json.loads(line))}
    for i, name in enumerate(names):
        if name in known:
            continue
        start = time.monotonic()
        known[name] = measure_apart(name, options)
        if options.json:
            with options.json.open('a') as file:
                print(json.dumps(known[name]), file=file)
        say(f'{i + 1}/{len(names)} {name}: {verdict(known[name]) or "agrees"}, {time.monotonic() - start:.0f} s')
    all_found = [known[name] for name in names]
    print(table(all_found))
    return int(any(verdict(found).startswith(('differs', 'refused by crash')) for found in all_found))


if __name__ == '__main__':
    sys.exit(main())
