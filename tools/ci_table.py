"""Prints where .ci/run spent its time: seconds of each part and of the ten slowest tests, and compiler cache hits."""

import json
import pathlib
import re
import shutil
import subprocess
import sys


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def main():
    parts, tests, cache = map(pathlib.Path, sys.argv[1:])
    rows = [line.split('\t') for line in lines(parts)]
    print('\n seconds  part')
    for name, seconds, status in rows:
        print(f'{seconds:>8}  {name}' + ('' if status == '0' else f': failed with {status}'))
    print(f'{sum(int(seconds) for _, seconds, _ in rows):>8}  in all')
    entries = sorted((json.loads(line) for line in lines(tests)), key=lambda entry: -entry['duration'])
    print('\n seconds  of the ten slowest tests')
    for entry in entries[:10]:
        print(f'{entry["duration"]:>8.0f}  {entry["name"]}')
    if cache.exists() and shutil.which('ccache'):
        print('\ncompiler cache:')
        said = subprocess.run(['ccache', '--show-log-stats'], env={'CCACHE_STATSLOG': str(cache), 'PATH': '/usr/bin:/bin'},
                              capture_output=True, text=True).stdout
        print('\n'.join(line for line in said.splitlines() if re.search(r'(Hits|Misses|Cacheable)', line)))


if __name__ == '__main__':
    main()
