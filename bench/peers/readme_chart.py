"""Draws the table at the head of README as docs/measurements/readme_chart.svg: .venv-peers/bin/python bench/peers/readme_chart.py.

The chart is part of README, and tests/python/pages compares it with the table.
"""

import pathlib
import re

import matplotlib

matplotlib.use('Agg')
matplotlib.rcParams |= {'svg.hashsalt': 'sr', 'svg.fonttype': 'none', 'font.size': 11, 'font.family': 'sans-serif'}
from matplotlib import pyplot

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Okabe and Ito, Color Universal Design, 2008; sr stands out by its hatching, too.
COLORS = {'PyTorch eager': '#999999', 'TorchScript': '#56b4e9', 'ONNX Runtime': '#e69f00', 'OpenVINO': '#cc79a7',
          'AOTInductor': '#009e73', 'sr': '#0072b2'}


def table(text: str) -> tuple[list[str], dict[str, list[float]]]:
    """Names of the models, and microseconds of each runtime, from the first table of the page."""
    rows = [[cell.strip(' *') for cell in line.strip('|').split('|')] for line in text.splitlines() if line.startswith('|')]
    end = next((i for i, row in enumerate(rows[2:], 2) if len(row) != len(rows[0])), len(rows))
    models = [row[0] for row in rows[2:end]]
    times = {name: [float(row[i].replace(',', '')) for row in rows[2:end]] for i, name in enumerate(rows[0]) if i}
    return models, times


def draw(models: list[str], times: dict[str, list[float]], path: pathlib.Path) -> None:
    figure, axes = pyplot.subplots(1, len(models), figsize=(10, 3.6), layout='constrained')
    for at, (model, axis) in enumerate(zip(models, axes, strict=True)):
        for i, (name, values) in enumerate(reversed(times.items())):
            ratio = values[at] / times['sr'][at]
            axis.barh(i, ratio, color=COLORS[name], edgecolor='black' if name == 'sr' else 'none')
            label = f'{values[at]:,.3g} us' if values[at] < 1000 else f'{values[at] / 1000:.1f} ms'
            axis.annotate(label, (ratio, i), xytext=(3, 0), textcoords='offset points', va='center', fontsize=10)
        axis.set_title(re.sub(r', ', '\n', model, count=1), fontsize=11)
        axis.set_yticks(range(len(times)), list(reversed(times)) if at == 0 else [''] * len(times))
        axis.set_xlim(0, 1.45 * max(values[at] for values in times.values()) / times['sr'][at])
        axis.set_xticks([])
        for side in 'top', 'right', 'bottom':
            axis.spines[side].set_visible(False)
    figure.suptitle('Time of a call, one thread (shorter is better; each panel has its own scale)', fontsize=12)
    figure.savefig(path, metadata={'Date': None})


if __name__ == '__main__':
    draw(*table((ROOT / 'README.md').read_text()), ROOT / 'docs/measurements/readme_chart.svg')
