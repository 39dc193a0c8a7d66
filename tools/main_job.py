"""The main job: every model through Python eager, the interpreter, upstream and sr; one table, and the digits' accuracy."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import make_models
import models

PLANNERS = 'standard_resizing,linear_scan,greedy_by_size,no_reuse'
AGAINST = 'interpreter,upstream'
COLUMNS = ('model', 'batch', 'runner', 'planner', 'median ns', 'p99 ns', 'to upstream', 'arena B', 'lower bound',
           'no reuse B', 'allocs', 'max diff')


def say(text):
    print(f'main job: {text}', file=sys.stderr, flush=True)


def run_tool(tool, *arguments):
    command = [str(a) for a in (tool, *arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except OSError as error:
        sys.exit(f'main job: the tool does not start: {error}')
    except subprocess.TimeoutExpired:
        sys.exit(f'main job: the tool took more than 600 s: {" ".join(command)}')
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or 'nothing'
        sys.exit(f'main job: the tool ended with {done.returncode}: {" ".join(command)}\nIt said: {said}')


def eager_model(entry):
    model = models.MODELS[entry['name']][0]()
    model.load_state_dict(torch.load(make_models.OUT / entry['weights']))
    return model.eval()


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def measure_eager(model, sets, seconds):
    """Times single calls, the input sets in turn; returns a row like the tool's."""
    times = []
    with torch.inference_mode():
        for i in range(20):
            model(*sets[i % len(sets)])
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 20:
            arguments = sets[len(times) % len(sets)]
            start = time.perf_counter_ns()
            model(*arguments)
            times.append(time.perf_counter_ns() - start)
    return {'runner': 'eager', 'median_ns': statistics.median(times), 'p99_ns': percentile(times, 0.99)}


def measure_tool(tool, model, inputs, seconds):
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        run_tool(tool, 'bench', model, '--inputs', inputs, '--planner', PLANNERS, '--against', AGAINST,
                 '--threads', 1, '--seconds', seconds, '--json', file.name)
        try:
            return json.loads(pathlib.Path(file.name).read_text())['results']
        except (ValueError, KeyError) as error:
            sys.exit(f'main job: the tool wrote no readable results for {model}: {error!r}')


def text(value, form='{:,.0f}'):
    return '-' if value is None else form.format(value)


def table_row(name, batch, row, upstream):
    median = row.get('median_ns')
    runner = row.get('runner', '-') + (' replay' if row.get('replay') else '')
    difference = text(row.get('max_abs_diff'), '{:.1e}') + ('' if row.get('agrees') in (None, True) else ' DIFFERS')
    return (name, batch, runner, row.get('planner') or '-', text(median), text(row.get('p99_ns')),
            text(median / upstream if median and upstream else None, '{:.2f}'), text(row.get('arena_bytes')),
            text(row.get('lower_bound_bytes')), text(row.get('no_reuse_bytes')),
            text(row.get('allocations_per_run'), '{:g}'), difference)


def print_table(rows):
    rows = [COLUMNS, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        cells = [cell.rjust(width) if i in (1, *range(4, len(COLUMNS))) else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print('  '.join(cells).rstrip())


def model_rows(tool, entry, seconds):
    """The table rows of one model, and whether all agree with the interpreter."""
    model, rows, good = eager_model(entry), [], True
    for batch, inputs in entry['inputs'].items():
        say(f'{entry["name"]}, batch {batch}')
        path = make_models.OUT / inputs
        results = [measure_eager(model, torch.load(path), seconds),
                   *measure_tool(tool, make_models.OUT / entry['file'], path, seconds)]
        upstream = next((r['median_ns'] for r in results if r['runner'] == 'upstream'), None)
        rows += [table_row(entry['name'], batch, row, upstream) for row in results]
        good &= all(row.get('agrees') is not False for row in results)
    return rows, good


def tool_output(tool, entry):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'out.pt'
        run_tool(tool, 'run', make_models.OUT / entry['file'], '--inputs', make_models.OUT / entry['all_inputs'],
                 '--output', file)
        try:
            output = torch.load(file, weights_only=False)
        except (OSError, RuntimeError, ValueError) as error:
            sys.exit(f'main job: the output of the tool for {entry["name"]} cannot be read: {error}')
    while isinstance(output, (list, tuple)):  # of input sets, of results
        output = output[0]
    return output


def compare_accuracy(tool, entry, labels):
    """Prints the accuracy over all images; true when sr's equals eager's."""
    (images,), = torch.load(make_models.OUT / entry['all_inputs'])
    with torch.inference_mode():
        eager = make_models.accuracy(eager_model(entry)(images), labels)
    ours = make_models.accuracy(tool_output(tool, entry), labels)
    equal = eager == ours
    print(f'{entry["name"]}: accuracy over {len(labels):,} images: eager {eager:.4%}, sr {ours:.4%}: '
          f'{"equal" if equal else "NOT EQUAL"}')
    return equal


def print_what_next(tool, entry, rows):
    """What the table says, and where to go from here."""
    at = {name: COLUMNS.index(name) for name in ('runner', 'planner', 'to upstream')}
    ratios = [float(row[at['to upstream']]) for row in rows
              if row[at['runner']] == 'sr replay' and row[at['planner']] == 'linear_scan' and row[at['to upstream']] != '-']
    if ratios:
        print(f"\nThe column 'to upstream' is the time over that of PyTorch's Static Runtime: {min(ratios):.2f} to "
              f'{max(ratios):.2f} for replays of sr.')
    model, inputs = make_models.OUT / entry['file'], make_models.OUT / next(iter(entry['inputs'].values()))
    here = pathlib.Path.cwd()

    def short(path):
        return path.relative_to(here) if path.is_relative_to(here) else path

    print('\nLook next at:\n'
          f'  {short(tool)} report {short(model)} --inputs {short(inputs)} --html report.html\n'
          '      a page about a model: latencies, each step with its time, memory\n'
          f'  {short(tool)} bench {short(model)} --inputs {short(inputs)} --against interpreter,upstream --ops\n'
          '      the same comparison for one model; yours is a file of torch.export.save or torch.jit.save\n'
          '  docs/internals/example.md    how a model becomes a list of kernels\n'
          '  README.md          C++ and Python in ten lines each')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=0.5, help='for each runner of each model (default 0.5)')
    parser.add_argument('--tool', type=pathlib.Path, default=make_models.OUT.parent / 'sr', help='default build/sr')
    args = parser.parse_args()
    torch.set_num_threads(1)
    manifest = make_models.make()

    rows, good = [], True
    for entry in manifest['models']:
        found, agree = model_rows(args.tool, entry, args.seconds)
        rows += found
        good &= agree
    print_table(rows)
    print()
    if not good:
        print('An output differs from the interpreter by more than rtol 1e-4, atol 1e-5: see DIFFERS.')

    labels = torch.load(make_models.OUT / manifest['labels'])
    for entry in manifest['models']:
        if entry['all_inputs']:
            good &= compare_accuracy(args.tool, entry, labels)
    print_what_next(args.tool, manifest['models'][0], rows)
    return not good


if __name__ == '__main__':
    sys.exit(main())
