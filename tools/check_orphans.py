"""Checks that a meson.build names every C++ source: a forgotten file would never be compiled."""

import re
import sys

from toolchain import ROOT

FOLDERS = ('src', 'tests', 'bench', 'examples', 'python')


def named_sources():
    for build in ROOT.rglob('meson.build'):
        inside = build.relative_to(ROOT).parts
        if inside[0] in FOLDERS or len(inside) == 1:
            for name in re.findall(r"'([^'\n]+\.cpp)'", build.read_text()):
                yield build.parent / name


def main():
    named = set(named_sources())
    sources = {p for folder in FOLDERS for p in (ROOT / folder).rglob('*.cpp')}
    orphans = sorted(p.relative_to(ROOT) for p in sources - named)
    for orphan in orphans:
        print(f'{orphan}: no meson.build names it', file=sys.stderr)
    print(f'sources: {len(sources)}, orphans: {len(orphans)}')
    return bool(orphans)


if __name__ == '__main__':
    sys.exit(main())
