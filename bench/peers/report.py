"""Writes the measurements as a table, as CSV and as a plot."""

import csv
import dataclasses
import pathlib
import re

# In the order of the columns; `sr into` and `sr bound` write into the caller's buffer, as ONNX Runtime and OpenVINO do.
PEERS = ('eager', 'interpreter', 'upstream', 'AOTInductor', 'AOTInductor arrays', 'ONNX Runtime', 'OpenVINO', 'sr',
         'sr into', 'sr bound')
RIVALS = PEERS[:7]
OVER_ARRAYS = ('sr into', 'sr bound')  # whose times are compared with those of AOTInductor's arrays
HEADER = """\
Median microseconds a call, one thread each, every output first compared with eager's (rtol 1e-3, atol 1e-4; upstream's
with the interpreter's, by build/sr). Timed in C++ by bench_peers: the interpreter (frozen, optimize_for_inference),
AOTInductor (its C++ loader, single-threaded runner; with or without weights frozen, whichever is faster), AOTInductor
arrays (its library opened by dlopen, with stack allocation and the minimal interface of borrowed arrays), sr into
(run_into) and sr bound (a BoundCall). In C++ by
build/sr bench, call by call, with readings of the clock between: upstream (Static Runtime), sr (replay of shapes seen
before). Called from Python: eager, ONNX Runtime (IO binding), OpenVINO (its C API through ctypes, bound tensors,
float32). In parentheses these less their floor, an identity model with as many inputs through the same API in the same
rounds. The floor is the call from Python and the runtime's own cost of a call, so the truth of a caller in C++ lies
between the two figures. x/sr is a rival's time over that of sr with new results, likewise. ONNX Runtime and OpenVINO
write into bound buffers, as "sr into" does.
"""


@dataclasses.dataclass
class Measured:
    """Microseconds by peer, the floors of those called from Python, and reasons for missing figures."""

    model: str
    times: dict[str, float]
    floors: dict[str, float]
    reasons: dict[str, str]

    def net(self, peer: str) -> float | None:
        if peer not in self.times:
            return None
        return max(self.times[peer] - self.floors.get(peer, 0), 0)

    def ratios(self, peer: str) -> tuple[float | None, float | None]:
        """Ratios to sr's time with new results: of the measured time, and of that minus the floor."""
        ours = self.times.get('sr')
        times = (self.times.get(peer), self.net(peer))
        return tuple(None if time is None or not ours else time / ours for time in times)

    def over_arrays(self, peer: str) -> float | None:
        arrays = self.times.get('AOTInductor arrays')
        return None if arrays is None or peer not in self.times else self.times[peer] / arrays


def number(value: float | None) -> str:
    if value is None:
        return '-'
    return f'{value:,.0f}' if value >= 1000 else f'{value:.1f}' if value >= 100 else f'{value:.2f}'


def cell(row: Measured, peer: str, raw: float | None, net: float | None) -> str:
    return f'{number(raw)} ({number(net)})' if raw is not None and peer in row.floors else number(raw)


def cells(row: Measured) -> tuple[str, ...]:
    return (row.model, *(cell(row, peer, row.times.get(peer), row.net(peer)) for peer in PEERS),
            *(cell(row, rival, *row.ratios(rival)) for rival in RIVALS),
            *(number(row.over_arrays(peer)) for peer in OVER_ARRAYS))


def shortened(reason: str) -> str:
    """Only the first lines, which say what went wrong; compilers and exporters print pages."""
    text = re.sub(r'\s+', ' ', reason).strip()
    return text if len(text) <= 200 else text[:200] + ' ...'


def print_table(measured: list[Measured]):
    rows = [('model', *PEERS, *(f'{rival}/sr' for rival in RIVALS),
             *(f'{peer}/arrays' for peer in OVER_ARRAYS))]
    rows += [cells(row) for row in measured]
    print(HEADER)
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print('  '.join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
    reasons = [f'{row.model}: no figure of {peer}: {shortened(why)}'
               for row in measured for peer, why in row.reasons.items()]
    if reasons:
        print('\n' + '\n'.join(reasons))


def write_csv(measured: list[Measured], path: pathlib.Path):
    with path.open('w', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(('model', 'peer', 'median_us', 'floor_us', 'net_us', 'median_over_sr', 'net_over_sr', 'reason'))
        for row in measured:
            for peer in PEERS:
                figures = (row.times.get(peer), row.floors.get(peer), row.net(peer), *row.ratios(peer))
                writer.writerow((row.model, peer, *('' if f is None else f'{f:.4f}' for f in figures),
                                 shortened(row.reasons.get(peer) or row.reasons.get('any peer', ''))))


# Okabe and Ito, Color Universal Design, 2008; markers differ, too.
LOOKS = {'eager': ('#999999', 'v'), 'interpreter': ('#56b4e9', '^'), 'upstream': ('#d55e00', 'P'),
         'AOTInductor': ('#009e73', 'o'), 'AOTInductor arrays': ('#004d38', 'X'), 'ONNX Runtime': ('#e69f00', 's'),
         'OpenVINO': ('#cc79a7', 'D')}
# For each rival, its time over that of sr: the time as measured, and the time less its floor.
Ratios = dict[str, tuple[float | None, float | None]]


def draw(models: dict[str, Ratios], path: pathlib.Path):
    """A row for each model. A marker is less the floor, and a line leads to the measured time."""
    import matplotlib

    matplotlib.use('Agg')
    matplotlib.rcParams |= {'svg.hashsalt': 'sr', 'svg.fonttype': 'none', 'font.size': 10, 'font.family': 'sans-serif'}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.36 * len(models) + 1.4), layout='constrained')
    for rival, (color, marker) in LOOKS.items():
        label = rival
        for i, ratios in enumerate(models.values()):
            raw, net = ratios.get(rival, (None, None))
            if net is None or raw is None:
                continue
            axes.plot([net, raw], [i, i], color=color, linewidth=1)
            axes.plot([net], [i], marker=marker, color=color, markersize=6, linestyle='none', label=label)
            label = None  # one entry of the legend
    axes.set_xscale('log')
    axes.axvline(1, color='black', linewidth=0.8)
    marks = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
    left, right = axes.get_xlim()
    axes.set_xticks([mark for mark in marks if left <= mark <= right], [f'{mark:g}' for mark in marks if left <= mark <= right])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(models)), list(models))
    axes.invert_yaxis()
    axes.set_xlabel("time over that of sr: left of 1 sr is slower; lines end at the time with the call from Python")
    axes.grid(alpha=0.3)
    figure.legend(ncols=4, fontsize=10, loc='outside upper center', frameon=False)
    figure.savefig(path, metadata={'Date': None} if path.suffix == '.svg' else None)
    pyplot.close(figure)


def plot(measured: list[Measured], path: pathlib.Path):
    draw({row.model: {rival: row.ratios(rival) for rival in RIVALS} for row in measured}, path)


def ratios_of_page(text: str) -> dict[str, Ratios]:
    """From the table of ratios of docs/measurements/peers.md."""
    lines = text[text.index('Time of each over that of sr'):].split('\n\n')[1].splitlines()
    names, *rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines if not line.startswith('|---')]

    def read(cell: str) -> tuple[float | None, float | None]:
        found = [float(number) for number in re.findall(r'[\d.]+', cell.replace(',', ''))]
        return (found[0], found[-1]) if found else (None, None)

    return {row[0]: {name: read(cell) for name, cell in zip(names[1:], row[1:], strict=True) if name in RIVALS} for row in rows}


if __name__ == '__main__':  # draws docs/measurements/peers.svg from the page again
    docs = pathlib.Path(__file__).resolve().parents[2] / 'docs/measurements'
    draw(ratios_of_page((docs / 'peers.md').read_text()), docs / 'peers.svg')
