"""The peers timed by programs: sr and upstream by build/sr bench, the others by runner.cpp."""

import json
import math
import pathlib
import subprocess
import tempfile

import torch

from files import Files
from rivals import check


class ProgramError(Exception):
    pass


def run(*command) -> str:
    command = [str(c) for c in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f'the program does not run: {error}') from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or 'nothing'
        raise ProgramError(f'{pathlib.Path(command[0]).name} ended with {done.returncode} and said: {said}')
    return done.stdout


def check_sr(tool: pathlib.Path, files: Files):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'out.pt'
        # The third call is the first that is replayed.
        run(tool, 'run', files.script, '--inputs', files.saved_inputs, '--output', file, '--repeat', 4)
        check(torch.load(file)[0], files.expected)


def time_sr(tool: pathlib.Path, files: Files, seconds: float) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds of sr with new results and of upstream, and reasons for missing ones."""
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        run(tool, 'bench', files.script, '--inputs', files.saved_inputs, '--against', 'upstream',
            '--threads', 1, '--seconds', seconds, '--json', file.name)
        results = json.loads(pathlib.Path(file.name).read_text())['results']
    times, reasons = {}, {}
    for result in results:
        name = result['runner']
        if result['agrees']:
            times[name] = result['median_ns'] / 1e3
        else:
            reasons[name] = f"its output differs from the interpreter's by {result['max_abs_diff']:.1e}"
    return times, reasons


def time_runner(runner: pathlib.Path, files: Files, rounds: int, seconds: float, ours=('sr into', 'sr bound'),
                libraries=True) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds of what runner.cpp times (of AOTInductor by its faster package), and reasons for missing ones."""
    times, reasons = {}, {}
    rivals = [(name, files.script) for name in ('interpreter', *ours)]
    makers = [('AOTInductor', lambda: files.package('frozen')), ('AOTInductor', lambda: files.package('plain'))]
    if libraries:
        makers.append(('AOTInductor arrays', files.library))
    for name, make in makers:
        try:
            rivals.append((name, make()))
        except Exception as error:  # the others are still timed
            reasons[name] = f'{type(error).__name__}: {error}'
    named = [f'{name}={file}' for name, file in rivals]
    for line in run(runner, rounds, seconds * 1e3, files.saved_calls, *named).splitlines():
        name, _, said = line.partition('\t')
        try:
            times[name] = min(float(said) / 1e3, times.get(name, math.inf))
        except ValueError:
            reasons[name] = said
    return times, {name: why for name, why in reasons.items() if name not in times}
