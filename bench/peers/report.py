"""Writes the measurements as a table, as CSV and as a plot."""

import csv
import dataclasses
import math
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


def plot(measured: list[Measured], path: pathlib.Path):
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(max(6, 1.1 * len(measured) + 2), 5), layout='constrained')
    width = 0.8 / len(RIVALS)
    for i, rival in enumerate(RIVALS):
        at = [j + (i + 0.5) * width - 0.4 for j in range(len(measured))]
        raw, net = zip(*(row.ratios(rival) for row in measured))
        # Bars start at 1; below it sr is slower. The logarithmic axis has no 0.
        axes.bar(at, [(ratio or 1) - 1 for ratio in net], width, bottom=1, label=rival)
        axes.plot(at, [ratio or math.nan for ratio in raw], '_', color='black', markersize=5)
    axes.set_yscale('log')
    axes.axhline(1, color='black', linewidth=0.8)
    axes.set_xticks(range(len(measured)), [row.model for row in measured], rotation=35, ha='right')
    axes.set_ylabel("time / sr's time; bars: less floors")
    axes.grid(axis='y', alpha=0.3)
    figure.legend(ncols=3, fontsize='small', loc='outside upper center')
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
