"""The chart at the head of README shows what its table says, and can be read at the width of a page."""

import pathlib
import re

from browser import opened

ROOT = pathlib.Path(__file__).parents[3]


def test_the_chart_shows_the_table(tmp_path):
    chart = (ROOT / 'docs/measurements/readme_chart.svg').read_text()
    chart = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', 'width="100%"', chart[chart.index('<svg'):], count=1)
    seen = opened(f'<!doctype html><body style="margin:0">{chart}</body>', tmp_path)
    assert seen['errors'] == [] and seen['clipped'] == [] and seen['width'] <= 800
    text = (ROOT / 'README.md').read_text()
    rows = [line for line in text[:text.index('Same weights')].splitlines() if line.startswith('|')][2:]
    times = [float(cell.strip(' *').replace(',', '')) for row in rows for cell in row.strip('|').split('|')[1:]]
    assert len(times) == 30
    for time in times:
        assert (f'{time:,.3g} us' if time < 1000 else f'{time / 1000:.1f} ms') in chart, time
