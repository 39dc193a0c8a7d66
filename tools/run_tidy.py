"""Runs clang-tidy (checks: .clang-tidy) on the files that include the whole library; unchanged ones are not read again.

LibTorch alone costs about 20 s a file, so tests and examples are left to the compiler's warnings.
"""

import argparse
import json
import re
import subprocess
import sys
import sysconfig
import time

import toolchain
from toolchain import ROOT

FINDING = re.compile(r'^(?=/[^\n]*: (?:error|warning): )', re.MULTILINE)
SOURCES = ('src/*.cpp', 'src/tool/*.cpp', 'python/extension/*.cpp')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    args = parser.parse_args()
    flags = toolchain.Compiler(args.torch).flags + [
        f'-include{ROOT}/tools/tidy_shim.hpp', '-DSR_VERSION=""', '-Wno-everything', f'-isystem{sysconfig.get_path("include")}'
    ]

    store = toolchain.WORK / 'tidy.json'
    passed = set(json.loads(store.read_text())) if store.exists() else set()
    private = [p for folder in ('src', 'python') for p in sorted((ROOT / folder).rglob('*.hpp'))]
    headers = [p.read_text() for p in (*toolchain.headers().values(), *private)]
    rules = (ROOT / '.clang-tidy').read_text()
    sources = [p for pattern in SOURCES for p in sorted(ROOT.glob(pattern))]
    key = {p: toolchain.digest(rules, flags, p, p.read_text(), *headers) for p in sources}
    todo = [p for p in sources if key[p] not in passed]

    start = time.monotonic()
    results = toolchain.parallel(
        lambda p: subprocess.run(['clang-tidy', '--quiet', p, '--', *flags], capture_output=True, text=True), todo)
    failed = [p for p, result in zip(todo, results) if result.returncode]
    # One finding in a header comes once for every file that includes it.
    findings = (finding for r in results if r.returncode for finding in FINDING.split(r.stdout or r.stderr))
    sys.stderr.write(''.join(dict.fromkeys(findings)))
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(json.dumps([key[p] for p in sources if p not in failed]))
    print(f'tidy: {len(sources)} files, read now: {len(todo)} in {time.monotonic() - start:.0f} s')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
