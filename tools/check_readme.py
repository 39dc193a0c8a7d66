"""Checks that README and docs show programs that compile and commands that exist.

A ```cpp block that holds a main follows a line `<!-- examples/NAME.cpp -->` and equals that file, which the build
compiles; `./dev VERB` must be a verb. What stands in backticks must exist, too: paths of files, members of our classes
(`Class::member`), and the members of option structures (`Options::field`).
"""

import functools
import re
import sys

import dev_verbs
from toolchain import ROOT

BLOCK = re.compile(r'^(?P<before>[^\n]*)\n```cpp\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)
MARK = re.compile(r'<!-- (examples/\S+\.cpp) -->')


QUOTED = re.compile(r'`([^`\n]+)`')
MEMBER = re.compile(r'(?:sr::)?(?:\w+::)*(?P<owner>[A-Z]\w*)(?:<[^>]*>)?::(?P<member>~?\w+)')
FILE = re.compile(r'[\w./-]+\.(?:hpp|cpp|py|md|toml|json|build)')
# Where a page leaves out the beginning of a path.
FOLDERS = ('', 'include/', 'include/sr/', 'include/sr/replay/', 'include/sr/replay/trace/', 'include/sr/replay/runner/',
           'include/sr/replay/programs/', 'docs/', 'docs/guide/', 'docs/reference/', 'docs/internals/', 'docs/measurements/', 'tests/', 'bench/', 'python/',
           'examples/')
# Of LibTorch, Python and other projects; files that the reader makes.
FOREIGN_OWNERS = ('Scalar', 'Tensor', 'VariableVersion', 'TensorBase', 'TensorImpl', 'IValue')
MADE_BY_READER = re.compile(r'my_|model\.|plot\.|inputs?\.|main\.cpp|CMakeLists|requirements\.txt|x\.|report\.|/tmp/')


@functools.cache
def sources():
    """The text of each of our sources, by path."""
    return {p: p.read_text() for folder in ('include', 'src', 'python', 'examples', 'tests/support') for p in (ROOT / folder).rglob('*')
            if p.suffix in ('.hpp', '.cpp', '.py', '.pyi')}


@functools.cache
def files_of_class(owner):
    defines = re.compile(rf'\b(?:class|struct|enum class)\s+(?:\[\[\w+\]\]\s*)?{owner}\b|\b{owner}(?:<[^>]*>)?::')
    return [text for text in sources().values() if defines.search(text)]


def missing_members(text):
    for quoted in QUOTED.findall(text):
        for found in MEMBER.finditer(quoted):
            owner, member = found['owner'], found['member']
            if owner in FOREIGN_OWNERS or re.match(r'(?:at|c10|torch|std)::', quoted):
                continue
            files = files_of_class(owner)
            if files and not any(re.search(rf'\b{member}\b', text) for text in files):
                yield f'`{found[0]}`: {owner} has no member {member}'


def missing_files(text):
    for quoted in QUOTED.findall(text):
        for found in FILE.findall(quoted):
            known = any((ROOT / folder / found).exists() for folder in FOLDERS) or '/' not in found and any(
                p.name == found for p in sources())
            if not known and not MADE_BY_READER.search(found) and (found.startswith(('include', 'tests', 'src', 'docs', 'bench', 'tools',
                                                                                     'sr/', 'replay/', 'ops/', 'lowering/', 'steps/'))):
                yield f'`{found}` does not exist'


@functools.cache
def benchmarks():
    return set(re.findall(r"'(\w+)'", (ROOT / 'bench/meson.build').read_text()))


def problems(path):
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
        if verb not in dev_verbs.VERBS:
            yield f'{name}: ./dev has no verb {verb}'
    for part in re.findall(r'`\./dev test ([a-z_]+)', text):
        if part not in dev_verbs.SUITES:
            yield f'{name}: ./dev test has no suite {part}'
    for part in re.findall(r'`\./dev bench ([a-z_-]+)', text):
        if part not in dev_verbs.BENCHES and part not in benchmarks():
            yield f'{name}: ./dev bench has no program {part}'
    for missing in (*missing_members(text), *missing_files(text)):
        yield f'{name}: {missing}'


def main():
    pages = [ROOT / 'README.md', *(p for p in (ROOT / 'CONTRIBUTING.md',) if p.exists()), *sorted((ROOT / 'docs').rglob('*.md'))]
    found = [f'{p.name}: does not exist' for p in pages if not p.exists()]
    found += [problem for p in pages if p.exists() for problem in problems(p)]
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
