"""docs/reference/operators.md is what `sr ops --markdown` prints: check_operators.py SR DOCUMENT."""

import difflib
import pathlib
import subprocess
import sys


def main() -> int:
    tool, document = sys.argv[1:]
    printed = subprocess.run([tool, 'ops', '--markdown'], check=True, capture_output=True, text=True).stdout
    written = pathlib.Path(document).read_text()
    if printed == written:
        return 0
    changes = list(difflib.unified_diff(written.splitlines(), printed.splitlines(), 'written', 'printed', lineterm='', n=0))
    print('\n'.join(changes[:40]))
    print(f'{document} is out of date: run `build/sr ops --markdown > docs/reference/operators.md`.')
    return 1


if __name__ == '__main__':
    sys.exit(main())
