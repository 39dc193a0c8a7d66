"""Checks that programs built with an older sr.h run with this one: ./dev check abi.

The types of the header's functions are compared with those in tests/c/sr.abi by abidiff (abigail-tools). They are compiled from a
stub for each function, since the library has no debug information. --write replaces the file, after a change of SR_ABI_VERSION or an
addition.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from toolchain import ROOT

KEPT = ROOT / 'tests/c/sr.abi'


def stubs_of(header):
    """C that defines every function of the header."""
    plain = re.sub(r'/\*.*?\*/|^#.*?$', '', header, flags=re.DOTALL | re.MULTILINE)
    functions = re.findall(r'SR_API\s+([^;{]*\([^;{]*\));', plain)
    return '\n'.join(f'{function} {{ __builtin_trap(); }}' for function in functions)


def compile_stubs(header, folder):
    (folder / 'sr.h').write_text(header)
    (folder / 'stubs.c').write_text(f'#include "sr.h"\n{stubs_of(header)}\n')
    library = folder / 'libsr_c.so'
    subprocess.run(['gcc', '-std=c11', '-g', '-O0', '-shared', '-fPIC', '-w', 'stubs.c', '-o', library.name], cwd=folder, check=True)
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--header', type=pathlib.Path, default=ROOT / 'src/c/sr.h')
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = compile_stubs(options.header.read_text(), pathlib.Path(folder))
        if options.write:
            subprocess.run(['abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs', '--out-file', KEPT, library], check=True)
            return 0
        done = subprocess.run(['abidiff', '--no-added-syms', '--no-show-locs', KEPT, library], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stdout + f'abi: {options.header.name} is not compatible with {KEPT.relative_to(ROOT)}.', file=sys.stderr)
    return done.returncode


if __name__ == '__main__':
    sys.exit(main())
