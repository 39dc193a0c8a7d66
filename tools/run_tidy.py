"""Runs clang-tidy (checks: .clang-tidy) on the files that include the whole library, skipping unchanged ones.

LibTorch alone costs about 20 s a file, so tests and examples are left to the compiler's warnings.
"""

import argparse
import re
import subprocess
import sys
import sysconfig
import time

import toolchain
from toolchain import ROOT

FINDING = re.compile(r'^(?=/[^\n]*: (?:error|warning): )', re.MULTILINE)
# Meson's flags for one file, and the inline definitions of a header-only program.
EXTRA_FLAGS = {
    'src/runtime.cpp': ['-DSR_HEADER_ONLY'],
    'src/memory.cpp': ['-DSR_HEADER_ONLY'],
    'src/quantize.cpp': ['-DSR_HEADER_ONLY'],
    'src/tool/main.cpp': ['-DSR_VERBS_FROM_BIN=""'],
}
# src/serve/grpc is left out, because its files include headers that protoc generates in the build directory.
SOURCES = ('src/*.cpp', 'src/c/*.cpp', 'src/values/*.cpp', 'src/operators/*.cpp', 'src/tool/**/*.cpp', 'src/serve/*.cpp',
           'src/serve/[!g]*/*.cpp', 'python/extension/*.cpp')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    args = parser.parse_args()
    compiler = toolchain.Compiler(args.torch)
    flags = [*compiler.flags, '-DSR_VERSION=""', '-Wno-everything', f'-isystem{sysconfig.get_path("include")}']

    passed = toolchain.Passed('tidy')
    rules = (ROOT / '.clang-tidy').read_text()
    version = subprocess.run(['clang-tidy', '--version'], capture_output=True, text=True).stdout
    sources = [p for pattern in SOURCES for p in sorted(ROOT.glob(pattern))]
    missing = [name for name in EXTRA_FLAGS if ROOT / name not in sources]
    if missing:
        sys.exit(f'tidy: no such source: {", ".join(missing)}')
    flags_of = {p: flags + EXTRA_FLAGS.get(str(p.relative_to(ROOT)), []) for p in sources}
    key = {p: toolchain.digest(rules, version, flags_of[p], compiler.identity,
                               *(text for q in sorted(toolchain.files_read(p)) for text in (q, q.read_text())))
           for p in sources}
    todo = [p for p in sources if key[p] not in passed]
    print(f'tidy: {len(sources)} files, to read: {len(todo)}', flush=True)

    def read(path):
        result = subprocess.run(['clang-tidy', '--quiet', path, '--', *flags_of[path]], capture_output=True, text=True)
        if result.returncode == 0:
            passed.add(key[path])
        return result

    start = time.monotonic()
    results = toolchain.parallel(read, todo, 'file')
    failed = [p for p, result in zip(todo, results) if result.returncode]
    # A finding in a header is reported by every file that includes it.
    findings = (finding for r in results if r.returncode for finding in FINDING.split(r.stdout or r.stderr))
    sys.stderr.write(''.join(dict.fromkeys(findings)))
    print(f'tidy: read in {time.monotonic() - start:.0f} s')
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
