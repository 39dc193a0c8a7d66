"""Nested dictionaries of definitions, and blocks of code in which each line is a benchmark."""

import io
import re
import textwrap
import tokenize
from typing import Any, Iterator, NamedTuple

from core.types import DefinitionError, Language, Path

# Skips quoted text, in which `//` does not begin a comment.
CPP_COMMENT = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?!//).)*?(//.*)?""")


class Line(NamedTuple):
    heading: str  # of the lines below a line that is only a comment; may be empty
    label: str  # the comment behind the statement; may be empty
    stmt: str


def dedent(code: str) -> str:
    return textwrap.dedent(code).strip()


def flatten(nested: dict[Any, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The leaves of nested dictionaries, each behind its path of labels. A key is a label or a tuple of labels."""
    for key, value in nested.items():
        path = above + (key if isinstance(key, tuple) else (key,))
        if not all(isinstance(label, str) and label for label in path):
            raise DefinitionError(f'{path} is no path of labels: every label is a string that is not empty')
        if isinstance(value, dict):
            yield from flatten(value, path)
        else:
            yield path, value


def split_comment(line: str, language: Language) -> tuple[str, str]:
    if language is Language.CPP:
        comment = CPP_COMMENT.fullmatch(line)[1] or ''
        return line.removesuffix(comment).strip(), comment.removeprefix('//').strip()
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[:token.start[1]].strip(), token.string.lstrip('#').strip()
    except tokenize.TokenError as error:
        raise DefinitionError(f'`{line}` is no whole statement, and every line of a block is one: {error}') from error
    return line.strip(), ''


def parse_block(block: str, language: Language) -> list[Line]:
    lines, heading = [], ''
    for text in dedent(block).splitlines():
        stmt, comment = split_comment(text.strip(), language)
        if stmt:
            lines.append(Line(heading, comment, stmt))
        elif comment:
            heading = comment
    return lines


def pair_blocks(py_block: str | None, cpp_block: str | None) -> dict[Path, tuple[str | None, str | None]]:
    """Statements in Python and C++ by label. Lines pair in order; those without a label bear the text of the first."""
    blocks = [parse_block(block, language) if block is not None else None
              for block, language in ((py_block, Language.PYTHON), (cpp_block, Language.CPP))]
    py_lines, cpp_lines = blocks
    if not (py_lines or cpp_lines):
        raise DefinitionError('a block of variants needs at least one line, in Python or in C++')
    if py_lines is not None and cpp_lines is not None and len(py_lines) != len(cpp_lines):
        raise DefinitionError(f'the blocks do not pair: {len(py_lines)} lines of Python, {len(cpp_lines)} of C++')
    count, pairs = len(py_lines or cpp_lines), {}
    for py, cpp in zip(py_lines or [None] * count, cpp_lines or [None] * count):
        first = py or cpp
        if py and cpp and (py.heading != cpp.heading or (cpp.label and cpp.label != py.label)):
            raise DefinitionError(f'the blocks do not pair: `{py.stmt}` is {py.heading!r}, {py.label!r}, '
                                  f'but `{cpp.stmt}` is {cpp.heading!r}, {cpp.label!r}')
        path = (*([first.heading] if first.heading else []), first.label or first.stmt)
        if path in pairs:
            raise DefinitionError(f'two lines of a block have the same label: {", ".join(path)}')
        pairs[path] = (py and py.stmt, cpp and cpp.stmt)
    return pairs


def nest(flat: dict[Path, Any]) -> dict[str, Any]:
    """The inverse of flatten."""
    nested: dict[str, Any] = {}
    for (*above, last), value in flat.items():
        inner = nested
        for label in above:
            inner = inner.setdefault(label, {})
        inner[last] = value
    return nested
