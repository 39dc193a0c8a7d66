"""What a module says about itself."""

import os
from typing import Any, NamedTuple

import torch


class Value(NamedTuple):
    """An argument or a result. `dtype` and `shape` are None where the model leaves them open.

    A size of an exported program that may vary between calls is a name, such as 's0': equal names are equal sizes.
    """

    name: str
    type: str  # as TorchScript writes it: 'Tensor', 'Optional[int]'
    dtype: torch.dtype | None
    shape: tuple[int | str, ...] | None
    has_default: bool
    default: Any


class Page(dict[str, Any]):
    """A dictionary that a notebook shows as a page."""

    def __init__(self, values: Any = (), page: str = '', **more: Any) -> None:
        super().__init__(values, **more)
        self._page = page

    def _repr_html_(self) -> str:
        return self._page

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes what a notebook shows as a file that needs no others."""
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>sr</title>\n{self._page}</html>\n')


class Report(Page):
    """A dictionary that prints as a table: nodes, memory and plans of the runtime used last, and its pool.

    Notebooks show it as a page, with latencies, steps and a picture of the memory; `save_html` writes that.
    """

    def __repr__(self) -> str:
        return f"frontend: {self['frontend']}\n{self['text']}"


class Metrics(dict[str, Any]):
    """A dictionary that prints as a table: calls by how they were answered, their latencies, and the runtimes.

    `calls` have begun; of them `replayed`, `failed` and, of those, `cancelled`. `misses` has the calls that no plan
    answered, by reason. `latency` is of calls that returned: count, seconds (the sum), p50, p90, p99, p999, and
    `buckets`, the number of calls by the seconds below which they lie. `busy` calls found no runtime in time, and
    `waits` had to wait for one, up to `longest_wait` seconds.
    """

    def __repr__(self) -> str:
        latency = self['latency']
        lines = [f"{self['calls']} calls: {self['replayed']} replayed, {self['failed']} failed "
                 f"({self['cancelled']} cancelled), {self['busy']} found no runtime in time",
                 ', '.join(f'{name} {latency[name] * 1e6:.3g} us' for name in ('p50', 'p90', 'p99', 'p999'))]
        lines += [f'{count} not replayed: {reason}' for reason, count in self['misses'].items()]
        return '\n'.join([*lines, f"{self['runtimes']} runtimes, {self['runtimes_in_use']} in use"])


class QuantizationReport(dict[str, Any]):
    """A dictionary that prints as a table: layers with their errors and times, and the loss of the model.

    `layers` has the name, sizes, rows, error and times of each linear layer, and why it stayed in float.
    """

    def __repr__(self) -> str:
        return str(self['text'])
