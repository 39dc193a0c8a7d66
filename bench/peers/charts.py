"""Measures and draws the charts of docs/: ./dev bench peers charts [batches|load|steps ...].

batches: time of a row against the rows of a call. load: p50 and p99 against the load of one caller. steps: the nodes of a
graph, and the steps that replace them, coloured by time.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import matplotlib

matplotlib.use('Agg')
matplotlib.rcParams |= {'svg.hashsalt': 'sr', 'svg.fonttype': 'none', 'font.size': 11, 'font.family': 'sans-serif'}
import torch
from matplotlib import pyplot
from matplotlib.colors import LogNorm
from torch import nn

from sr import rivals

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS, TOOL = ROOT / 'docs', ROOT / 'build/sr'
# Okabe and Ito, Color Universal Design, 2008; lines differ in their markers, too.
LOOKS = {'eager': ('#999999', 'v'), 'onnxruntime': ('#e69f00', 's'), 'openvino': ('#cc79a7', 'D'),
         'interpreter': ('#56b4e9', '^'), 'upstream': ('#009e73', 'P'), 'sr': ('#0072b2', 'o')}
NAMES = {'eager': 'PyTorch eager', 'onnxruntime': 'ONNX Runtime', 'openvino': 'OpenVINO', 'interpreter': 'TorchScript',
         'upstream': "PyTorch's Static Runtime", 'sr': 'sr'}
WIDTH = 8.0  # inches: at 100 dots an inch a page of 800 pixels


class Ranking(nn.Module):
    """Wide and deep: a product of embeddings beside a small network of dense features."""

    def __init__(self) -> None:
        super().__init__()
        self.deep = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(65, 1)

    def forward(self, user: torch.Tensor, item: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        near = (user * item).sum(1, keepdim=True)
        deep = self.deep(torch.clamp((dense - 0.5) * 2, -3, 3))
        return torch.sigmoid(self.head(torch.cat([near, deep], 1)))


def ranking() -> nn.Module:
    torch.manual_seed(0)
    return Ranking().eval()


def inputs(rows: int) -> list[torch.Tensor]:
    return [torch.randn(rows, 32), torch.randn(rows, 32), torch.randn(rows, 64)]


def exported(path: pathlib.Path) -> pathlib.Path:
    batch = {0: torch.export.Dim('batch', min=1, max=4096)}
    torch.export.save(torch.export.export(ranking(), tuple(inputs(8)), dynamic_shapes=(batch,) * 3), path)
    return path


def tool(*arguments: Any) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        subprocess.run([str(a) for a in (TOOL, *arguments, '--json', file.name)], check=True, stdout=subprocess.DEVNULL)
        return json.load(file)


def save(figure: pyplot.Figure, name: str) -> None:
    figure.savefig(DOCS / name, metadata={'Date': None})
    pyplot.close(figure)
    print(f'docs/{name}')


def line(axis: pyplot.Axes, runner: str, xs: list[float], ys: list[float], label: str, dashed: bool = False) -> None:
    color, marker = LOOKS[runner]
    axis.plot(xs, ys, color=color, marker=marker, markersize=5, linewidth=2 if runner == 'sr' else 1.3, label=label,
              linestyle='--' if dashed else '-')


def draw_batches(folder: pathlib.Path) -> None:
    model, batches = exported(folder / 'ranking.pt2'), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    runners = ['eager', 'onnxruntime', 'openvino']
    times: dict[str, list[float]] = {}
    for batch in batches:
        for row in rivals.compare(str(model), [inputs(batch)], runners, seconds=0.6, module=ranking()):
            times.setdefault(row['runner'], []).append(row.get('seconds', float('nan')) * 1e6 / batch)
        print(batch, {name: round(all_[-1], 3) for name, all_ in times.items()}, file=sys.stderr)
    figure, axis = pyplot.subplots(figsize=(WIDTH, 4.2), layout='constrained')
    for runner in [*runners, 'sr']:
        line(axis, runner, batches, times[runner], NAMES[runner])
    axis.set_xscale('log', base=2)
    axis.set_yscale('log')
    axis.set_xticks(batches, [str(batch) for batch in batches])
    axis.set_xlabel('rows of a call')
    axis.set_ylabel('microseconds of a row')
    alone = times['sr'][0]
    reached = {name: next((b for b, t in zip(batches, times[name], strict=True) if t <= alone), None) for name in runners}
    axis.axhline(alone, color=LOOKS['sr'][0], linewidth=0.8, linestyle=':')
    axis.annotate('one row in sr', (batches[-1], alone), xytext=(0, 4), textcoords='offset points', ha='right', fontsize=10)
    for name, batch in reached.items():
        if batch is not None:
            axis.plot([batch], [times[name][batches.index(batch)]], marker='o', markersize=13, markerfacecolor='none',
                      markeredgecolor=LOOKS[name][0], linestyle='none')
    axis.set_title('A small ranking model, called from Python, one thread.\n'
                   'Circles: the rows that another runtime needs to be as cheap as one row in sr', fontsize=11)
    axis.legend(frameon=False)
    save(figure, 'measurements/batch_sizes.svg')


def draw_load(folder: pathlib.Path) -> None:
    model = exported(folder / 'ranking.pt2')
    call = ['bench', model, '--batch', 8, '--against', 'interpreter,upstream']
    closed = {entry['runner']: entry['median_ns'] for entry in tool(*call, '--seconds', 1)['results']}
    figure, axes = pyplot.subplots(1, 2, figsize=(WIDTH, 4.0), layout='constrained', sharey=True)
    for runner in 'interpreter', 'upstream', 'sr':
        rates, ranks = [], {'p50': [], 'p99': []}
        for part in 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9:
            rate = part * 1e9 / closed[runner]
            against = [] if runner == 'sr' else ['--against', runner]
            record = tool('bench', model, '--batch', 8, *against, '--rate', rate, '--poisson', '--seconds', 2)
            entry = next(entry for entry in record['results'] if entry['runner'] == runner)['open_loop']
            if not entry['sustained']:
                break
            rates.append(entry['achieved_per_s'])
            for rank, values in ranks.items():
                values.append(entry[f'{rank}_ns'] / 1000)
        for axis, (rank, values) in zip(axes, ranks.items(), strict=True):
            line(axis, runner, rates, values, NAMES[runner])
            axis.set_title(rank)
    for axis in axes:
        axis.set_xscale('log')
        axis.set_yscale('log')
        axis.set_xlabel('calls a second')
    axes[0].set_ylabel('microseconds from arrival to result')
    axes[0].legend(frameon=False)
    figure.suptitle('One caller of the ranking model, 8 rows, Poisson arrivals: 5 to 90 % of what it can take', fontsize=11)
    save(figure, 'measurements/load.svg')


def matched(nodes: list[dict[str, Any]], steps: list[dict[str, Any]]) -> list[list[int]]:
    """The nodes of each step: its operators in the order of the graph."""
    left, found = list(range(len(nodes))), []
    for step in steps:
        own = []
        for operator in step['ops']:
            index = next((i for i in left if nodes[i]['key'].split('.')[0] == operator.split('.')[0]), None)
            if index is not None:
                own.append(index)
                left.remove(index)
        found.append(own)
    return found


def draw_steps(folder: pathlib.Path) -> None:
    model = exported(folder / 'ranking.pt2')
    before = tool('bench', model, '--batch', 8, '--ops', '--no-replay', '--seconds', 1)['results'][0]['ops']['nodes']
    program = tool('bench', model, '--batch', 8, '--ops', '--seconds', 1)['results'][0]['steps'][0]
    after = []
    for step in program['steps']:
        kind, _, operators = step['step'].partition(': ')
        after.append({'kind': kind, 'ops': operators.split(', ') if operators else [], 'ns': step['ns']})
    before = [node for node in before if node['block'] == 0]
    groups = matched(before, after)
    figure, axis = pyplot.subplots(figsize=(WIDTH, 0.36 * len(before) + 1.2), layout='constrained')
    times = [node['ns'] for node in before] + [step['ns'] for step in after]
    norm, colors = LogNorm(max(min(times), 1), max(times)), matplotlib.colormaps['cividis_r']

    def box(x: float, y: float, width: float, ns: float, text: str) -> None:
        color = colors(norm(max(ns, 1)))
        dark = sum(c * w for c, w in zip(color[:3], (0.3, 0.59, 0.11), strict=True)) < 0.5
        axis.add_patch(pyplot.Rectangle((x, y - 0.4), width, 0.8, facecolor=color, edgecolor='black', linewidth=0.6))
        axis.text(x + 0.01, y, text, va='center', fontsize=10, color='white' if dark else 'black')
        axis.text(x + width - 0.01, y, f'{ns:,.0f} ns', va='center', ha='right', fontsize=10, color='white' if dark else 'black')

    rows = {i: float(len(before) - i) for i in range(len(before))}
    for i, node in enumerate(before):
        box(0, rows[i], 0.36, node['ns'], node['key'].split('.')[0])
    for step, group in zip(after, groups, strict=True):
        y = sum(rows[i] for i in group) / len(group) if group else 0.0
        box(0.6, y, 0.4, step['ns'], step['kind'])
        for i in group:
            axis.plot([0.36, 0.6], [rows[i], y], color='black', linewidth=0.8)
    total = sum(node['ns'] for node in before), sum(step['ns'] for step in after)
    axis.set_title(f'Nodes of the graph, run one by one: {total[0]:,.0f} ns', loc='left', fontsize=11)
    axis.set_title(f'Steps of the replay: {total[1]:,.0f} ns', loc='right', fontsize=11)
    axis.set_xlim(-0.01, 1.01)
    axis.set_ylim(0.3, len(before) + 0.7)
    axis.axis('off')
    save(figure, 'internals/steps.svg')


CHARTS = {'batches': draw_batches, 'load': draw_load, 'steps': draw_steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('charts', nargs='*', help=f"of {', '.join(CHARTS)}; unless given, all")
    chosen = parser.parse_args().charts or list(CHARTS)
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            CHARTS[name](pathlib.Path(folder))


if __name__ == '__main__':
    main()
