"""Prints one line, `N passed, N failed`, from Meson's testlog.json; Catch2 and pytest count by their cases."""

import json
import pathlib
import re
import sys


def count(entry):
    """(passed, failed) of one Meson test."""
    output = entry.get('stdout', '')
    good = entry['result'] in ('OK', 'EXPECTEDFAIL')
    passed = failed = 0
    if entry['result'] == 'SKIP':
        return 0, 0
    if found := re.search(r'^All tests passed \(.* in (\d+) test cases?\)', output, re.MULTILINE):
        passed = int(found[1])
    elif found := re.search(r'^test cases: +\d+ +\|(.*)$', output, re.MULTILINE):
        numbers = {what: int(n) for n, what in re.findall(r'(\d+) (passed|failed)(?! as expected)', found[1])}
        passed, failed = numbers.get('passed', 0), numbers.get('failed', 0)
    elif 'No tests ran' in output:
        # A tag without test cases is an error; the entry for cases without a listed tag may be empty.
        return (0, 0) if entry['name'].endswith(' others') else (0, 1)
    elif found := re.search(r'^=* ?(\d+ (?:passed|failed|skipped)\b.*) in [\d.]+s', output, re.MULTILINE):  # pytest
        numbers = {what: int(n) for n, what in re.findall(r'(\d+) (\w+)', found[1])}
        passed, failed = numbers.get('passed', 0), numbers.get('failed', 0) + numbers.get('errors', 0)
    elif good:
        passed = 1
    if not good and not failed:
        failed = 1  # it crashed, leaked or took too long
    return passed, failed


def main():
    log = pathlib.Path(sys.argv[1])
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    counts = [count(e) for e in entries]
    passed, failed = sum(p for p, _ in counts), sum(f for _, f in counts)
    print(f'{passed} passed, {failed} failed')
    return bool(failed or not passed)


if __name__ == '__main__':
    sys.exit(main())
