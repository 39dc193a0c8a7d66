"""Docstrings as the pages of the reference show them: examples as code, and lists of options as lists.

An extension of griffe, the parser of Python that mkdocstrings uses.
"""

import re

import griffe

OPTION = re.compile(r'^(?P<names>\w+(?:, \w+)*(?:; or \w+)?): (?=\S)')


def _paragraph(lines):
    if lines and lines[0].lstrip().startswith('>>> '):
        return ['```pycon', *lines, '```']
    if not any(OPTION.match(line) for line in lines[:1]):
        return lines
    made = []
    for line in lines:
        option = OPTION.match(line)
        made.append(f'- **{option["names"]}**: {line[option.end():]}' if option else f'  {line}')
    return made


def as_markdown(text):
    paragraphs = [_paragraph(block.splitlines()) for block in re.split(r'\n\s*\n', text)]
    return '\n\n'.join('\n'.join(lines) for lines in paragraphs)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
