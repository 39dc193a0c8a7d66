"""Checks that README and docs show programs that compile and commands that exist.

A ```cpp block that holds a main follows a line `<!-- examples/NAME.cpp -->` and equals that file, which the build
compiles; `./dev VERB` must be a verb.
"""

import re
import sys

from toolchain import ROOT

BLOCK = re.compile(r'^(?P<before>[^\n]*)\n```cpp\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)
MARK = re.compile(r'<!-- (examples/\S+\.cpp) -->')


def problems(path, verbs):
    text = path.read_text()
    name = path.relative_to(ROOT)
    for block in BLOCK.finditer('\n' + text):
        mark = MARK.fullmatch(block['before'].strip())
        if not mark:
            if re.search(r'\bint main\(', block['code']):
                yield f'{name}: a program without a line <!-- examples/NAME.cpp --> just above it'
            continue
        example = ROOT / mark[1]
        if not example.exists():
            yield f'{name}: {mark[1]} does not exist'
        elif example.read_text().strip() != block['code'].strip():
            yield f'{name}: the program differs from {mark[1]}'
    for verb in re.findall(r'\./dev ([a-z]+(?:-[a-z]+)*)', text):
        if verb not in verbs:
            yield f'{name}: ./dev has no verb {verb}'


def main():
    verbs = set(re.findall(r'^verb_([\w-]+)\(\)', (ROOT / 'dev').read_text(), re.MULTILINE))
    pages = [ROOT / 'README.md', *(p for p in (ROOT / 'CONTRIBUTING.md',) if p.exists()), *sorted((ROOT / 'docs').rglob('*.md'))]
    found = [f'{p.name}: does not exist' for p in pages if not p.exists()]
    found += [problem for p in pages if p.exists() for problem in problems(p, verbs)]
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
