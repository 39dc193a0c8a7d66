"""Results as a file, and as one table: instructions a call, a row for each definition, a column for each runtime."""

import dataclasses
import json
import pathlib
import subprocess
from typing import Any, Iterable

import torch

from core.expand import Case
from core.types import Autograd, Path, Runtime

FORMAT = 1


class ResultError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Results:
    machine: dict[str, str]
    measured: dict[Path, dict[str, Any]]  # by the path of the definition and the words of Labels behind it

    def comparable(self, other: 'Results') -> bool:
        return all(self.machine.get(key) == other.machine.get(key) for key in ('torch', 'cpu'))


def first_line(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return 'unknown'


def this_machine() -> dict[str, str]:
    """What counts depend on. Callgrind does not support AVX-512, so CPUs differ at most in AVX2."""
    capability = torch.backends.cpu.get_cpu_capability()
    here = pathlib.Path(__file__).resolve().parent
    return {'torch': torch.__version__, 'cpu': 'AVX2' if capability == 'AVX512' else capability,
            'valgrind': first_line('valgrind', '--version'),
            'commit': first_line('git', '-C', str(here), 'rev-parse', '--short', 'HEAD')}


def collect(outcome: Iterable[tuple[Case, dict[str, Any]]]) -> Results:
    return Results(this_machine(), {case.path + case.labels.words(): measured for case, measured in outcome})


def write(results: Results, file: pathlib.Path):
    lines = [json.dumps({'name': name} | measured, ensure_ascii=False) for name, measured in results.measured.items()]
    head = json.dumps({'format': FORMAT, 'machine': results.machine})[:-1]
    part = file.with_name(f'part-{file.name}')
    part.write_text(f'{head}, "results": [\n' + ',\n'.join(lines) + '\n]}\n')  # a line each, for diffs
    part.rename(file)


def read(file: pathlib.Path) -> Results:
    try:
        content = json.loads(file.read_text())
        if content['format'] != FORMAT:
            raise ResultError(f'{file} has the format {content["format"]}; {FORMAT} is read')
        return Results(content['machine'], {tuple(result.pop('name')): result for result in content['results']})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f'{file} holds no results of instruction counts: {error}') from error


def row_name(path: Path, language: str, autograd: str, threads: str) -> str:
    return ' / '.join(path) + f' [{language}{", backward" if autograd == Autograd.BACKWARD.value else ""}' + (
        f', {threads} threads]' if threads != '1' else ']')


def table(results: Results) -> str:
    rows: dict[str, dict[str, float]] = {}
    for (*path, language, runtime, autograd, threads), measured in results.measured.items():
        rows.setdefault(row_name(tuple(path), language, autograd, threads), {})[runtime] = measured['instructions']
    columns = [runtime.value for runtime in Runtime if any(runtime.value in row for row in rows.values())]
    lines = ['| instructions a call | ' + ' | '.join(columns) + ' |', '|---|' + '---|' * len(columns)]
    for name, row in rows.items():
        cells = (f'{row[column]:,.0f}' if column in row else '' for column in columns)
        lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)
