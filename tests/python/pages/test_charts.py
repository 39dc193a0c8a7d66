"""Pictures of the documentation can be read at the width of a page."""

import pathlib
import re

import pytest

from browser import opened

DOCS = pathlib.Path(__file__).parents[3] / 'docs'
PICTURES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob('*.svg'))
PAGE, LEAST = 800, 9  # pixels: the width, and the height of letters


@pytest.mark.parametrize('name', PICTURES)
def test_nothing_is_clipped_or_tiny(name, tmp_path):
    picture = (DOCS / name).read_text()
    picture = picture[picture.index('<svg'):]
    drawn = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'width="100%"', picture, count=1)
    seen = opened(f'<!doctype html><body style="margin:0">{drawn}</body>', tmp_path)
    assert seen['errors'] == [] and seen['clipped'] == [] and seen['width'] <= PAGE, seen
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture)[1])
    letters = [float(size) for size in re.findall(r'font-size: ([\d.]+)px', picture)]
    assert letters and min(letters) * PAGE / width >= LEAST, (min(letters), width)


@pytest.mark.parametrize('name', PICTURES)
def test_a_page_shows_it_and_says_what_it_is(name):
    pages = [*DOCS.rglob('*.md'), DOCS.parent / 'README.md']
    shown = [text for page in pages for text, target in re.findall(r'!\[([^\]]+)\]\(([^)]+)\)', page.read_text())
             if (page.parent / target).resolve() == (DOCS / name).resolve()]
    assert shown and all(len(text) > 20 for text in shown), name
