"""The page of options has all there are, with their defaults."""

import pathlib
import re

from sr import _options

PAGE = pathlib.Path(__file__).parents[3] / 'docs/reference/options.md'


def rows(text):
    return {cells[0].strip('` '): cells[1].strip('` ') for line in text.splitlines()
            if (cells := line.strip('|').split('|')) and line.startswith('| `') and len(cells) == 3}


def test_options_and_defaults():
    listed = rows(PAGE.read_text())
    defaults = _options.OF_POOL | _options.OF_MODULE
    assert set(listed) == set(defaults) == set(_options.Options.__annotations__)
    said = {None: 'none', True: 'true', False: 'false', 1 << 20: '1 MiB'}
    for name, default in defaults.items():
        is_known = isinstance(default, bool | None) or default == 1 << 20
        expected = said[default] if is_known else 'none' if default == [] else str(default)
        assert listed[name] == expected, name


def test_every_variable_that_the_code_reads():
    root = PAGE.parents[2]
    read = {name for folder in ('include', 'src') for path in (root / folder).rglob('*.[ch]pp')
            for name in re.findall(r'getenv\("(\w+)"\)', path.read_text())}
    assert read and all(f'`{name}' in PAGE.read_text() for name in read), read
