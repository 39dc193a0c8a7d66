"""Runs tests/compile/*.cpp: each must compile, and must fail for the stated reason with -DSR_REJECT=N.

  // needs: torch                  LibTorch's headers are used (they come precompiled)
  // reject N: <part of a message>  with -DSR_REJECT=N the compiler fails and prints this
"""

import argparse
import pathlib
import re
import sys

import toolchain


def problems(path, compiler):
    source = path.read_text()
    torch = bool(re.search(r'^// needs: torch$', source, re.MULTILINE))
    rejects = re.findall(r'^// reject (\d+): (.+)$', source, re.MULTILINE)
    if torch:
        compiler.precompiled()

    def compile_as(number):
        define = [f'-DSR_REJECT={number}'] if number else []
        # The path of the file, so that it can include its neighbours, and messages name it.
        return compiler.check(f'#line 1 "{path}"\n{source}', f'-iquote{path.parent}', *define, torch_ready=torch)

    if not rejects:
        yield f'{path.name}: no line "// reject N: <message>" was found in it'
    listed = {number for number, _ in rejects}
    for number in re.findall(r'\bSR_REJECT\s*==\s*(\d+)\b', source):
        if number not in listed:
            yield f'{path.name}: asks for SR_REJECT == {number}, but no line "// reject {number}: <message>" says why'
    results = toolchain.parallel(compile_as, [None, *(n for n, _ in rejects)])
    if results[0].returncode:
        yield f'{path.name}: does not compile\n{results[0].stderr}'
    for (number, message), result in zip(rejects, results[1:]):
        if not re.search(rf'\bSR_REJECT\s*==\s*{number}\b', source):
            yield f'{path.name}: nothing in it asks for SR_REJECT == {number}'
        elif not result.returncode:
            yield f'{path.name}: compiles with SR_REJECT={number}, but should say "{message}"'
        elif message.strip() not in result.stderr:
            yield f'{path.name}: SR_REJECT={number} does not say "{message}" but\n{result.stderr}'
    print(f'{path.name}: 1 accepted, {len(rejects)} rejected')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    parser.add_argument('files', nargs='+', type=pathlib.Path)
    args = parser.parse_args()
    compiler = toolchain.Compiler(args.torch)
    passed = toolchain.Passed('compile')
    failed = False
    for path in [p.resolve() for p in args.files]:
        # The compiler cache does not store failed compilations, so a file that passed is remembered as a whole.
        read = [text for q in sorted(toolchain.files_read(path)) for text in (q, q.read_text())]
        key = toolchain.digest(compiler.identity, pathlib.Path(__file__).read_text(), *read)
        if key in passed:
            print(f'{path.name}: passed before, and nothing that it reads has changed')
            continue
        found = list(problems(path, compiler))
        for problem in found:
            print(problem, file=sys.stderr)
        if found:
            failed = True
        else:
            passed.add(key)
    return failed


if __name__ == '__main__':
    sys.exit(main())
