"""Loads published architectures through torch.export, compares every call with eager's, and times them.

Each runs in a process of its own. The table says what was found; --json keeps it."""

import argparse
import collections
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER), str(FOLDER.parent / 'models')]
CALLS = 4  # of a shape: the general path, the recording, replays
BOUND = 1e-5  # of the largest result


def say(text: str) -> None:
    print(f'coverage: {text}', file=sys.stderr, flush=True)


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f'{type(error).__name__}: {lines[0][:300] if lines else ""}'


def tensors_of(result) -> list:
    """The tensors of a nest of lists, tuples and dictionaries."""
    import torch
    leaves, _ = torch.utils._pytree.tree_flatten(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def difference(found, wanted) -> float:
    """The largest one, relative to the largest result."""
    worst = 0.0
    found, wanted = tensors_of(found), tensors_of(wanted)
    if len(found) != len(wanted):
        return float('inf')
    for a, b in zip(found, wanted):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float('inf')
        if b.numel() == 0:
            continue
        if not b.is_floating_point():
            worst = max(worst, float((a != b).any()))
            continue
        if not bool((a.isnan() == b.isnan()).all()):
            return float('inf')
        a, b = a.nan_to_num(0).double(), b.nan_to_num(0).double()
        scale = b.abs().max().item()
        worst = max(worst, (a - b).abs().max().item() / scale if scale else (a - b).abs().max().item())
    return worst


def export(torch, model, arguments, varying):
    """With dimensions that vary where torch.export allows it, else with the sizes of the arguments."""
    # `*arguments` of a model is one argument for torch.export.
    starred = any(parameter.kind is parameter.VAR_POSITIONAL
                  for parameter in __import__('inspect').signature(model.forward).parameters.values())
    shapes = tuple({dim: torch.export.Dim.AUTO for dim in varying.get(i, ())} for i in range(len(arguments)))
    try:
        return torch.export.export(model, arguments, dynamic_shapes=(shapes,) if starred else shapes), True
    except Exception as error:
        say(f'static: {first_line(error)}')
        return torch.export.export(model, arguments), False


def rounding(torch, sr, model, archive: bytes, calls, wanted) -> dict:
    """What tells an amplified rounding error from a wrong result: the difference of sr's exact numerics, which run every
    kernel of LibTorch as eager does, and eager's own difference from float64."""
    exact = sr.load(archive, intra_op_threads=1, numerics='exact')
    differences = [difference(exact(*arguments), expected) for arguments, expected in zip(calls, wanted) for _ in range(CALLS)]

    def doubled(values):
        return torch.utils._pytree.tree_map(
            lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x, values)
    try:
        own = max(difference(doubled(expected), model.double()(*doubled(arguments))) for arguments, expected in zip(calls, wanted))
    finally:
        model.float()
    return {'exact_difference': max(differences), 'eager_error': own}


def measure(name: str, rounds: int) -> dict:
    """What became of one architecture."""
    import torch

    import sr
    # The wheel of torchvision is made for CUDA, and its operators can not be loaded beside a torch without. timm and
    # transformers need its Python part, which asks for two of them.
    operators = torch.library.Library('torchvision', 'DEF')
    for operator in ('nms', 'qnms'):
        operators.define(f'{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
    from architectures import BY_NAME
    from timing import time_in_rounds
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    torch.manual_seed(0)
    architecture = BY_NAME[name]
    found: dict = {'name': architecture.package + '/' + architecture.name}
    with torch.no_grad():
        model, calls = architecture.make(), architecture.calls()
        wanted = [model(*arguments) for arguments in calls]
        start = time.perf_counter()
        try:
            program, varies = export(torch, model, calls[0], architecture.varying)
            archive = io.BytesIO()
            torch.export.save(program, archive)
        except Exception as error:
            return found | {'refused_by': 'torch.export', 'reason': first_line(error)}
        found |= {'varies': varies, 'export_seconds': time.perf_counter() - start}
        start = time.perf_counter()
        try:
            module = sr.load(archive.getvalue(), intra_op_threads=1)
        except Exception as error:
            return found | {'refused_by': 'sr', 'reason': first_line(error)}
        found['load_seconds'] = time.perf_counter() - start
        worst = 0.0
        served = 0
        for arguments, expected in zip(calls, wanted):
            try:
                for _ in range(CALLS):
                    worst = max(worst, difference(module(*arguments), expected))
                served += 1
            except Exception as error:
                if not served or varies:
                    found.setdefault('call_error', first_line(error))
        if worst > BOUND:
            found |= rounding(torch, sr, model, archive.getvalue(), calls, wanted)
        report = module.report()
        names = [(step['kind'], step['ops']) for plan in report['plans'] for step in plan['steps']]
        found |= {'difference': worst, 'shapes': served, 'plans': len(report['plans']), 'replayed': report['replayed_calls'],
                  'bailouts': report['bailouts'], 'fallbacks': report['fallbacks'],
                  'interpreted': sum(plan['interpreted'] for plan in report['plans'][:1]),
                  'interpreted_ops': sorted({op for kind, ops in names if kind.startswith('interpreted') for op in ops})}
        runners = {'sr': module, 'eager': model}
        try:
            runners['torchscript'] = torch.jit.freeze(torch.jit.trace(model, calls[0], check_trace=False, strict=False))
            runners['torchscript'](*calls[0])
        except Exception as error:
            runners.pop('torchscript', None)
            found['no_torchscript'] = first_line(error)
        found['microseconds'] = time_in_rounds(runners, calls[0], rounds, 0.1)
    return found


def measure_apart(name: str, options: argparse.Namespace) -> dict:
    command = [sys.executable, str(FOLDER / 'main.py'), '--one', name, '--rounds', str(options.rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {'name': name, 'refused_by': 'time', 'reason': f'It took more than {options.timeout} seconds.'}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return {'name': name, 'refused_by': 'crash', 'reason': (done.stderr.strip().splitlines() or ['nothing said'])[-1][:300],
                'code': done.returncode}
    return json.loads(lines[-1])


def agrees(found: dict) -> bool:
    """A network of random weights may amplify rounding errors, eager's as well. Then its exact numerics must agree."""
    if found['difference'] <= BOUND:
        return True
    return found.get('exact_difference', 1) <= BOUND and found['difference'] <= 20 * found.get('eager_error', 0)


def verdict(found: dict) -> str:
    """In a word or two; empty where all is well."""
    if 'refused_by' in found:
        return f'refused by {found["refused_by"]}'
    if 'call_error' in found:
        return 'a call is refused'
    if not agrees(found):
        return 'differs'
    if not found['replayed']:
        return 'never replayed'
    return 'interprets' if found['interpreted'] else ''


def ratio(found: dict, rival: str) -> float | None:
    times = found.get('microseconds', {})
    return times[rival] / times['sr'] if rival in times else None


def table(all_found: list[dict]) -> str:
    lines = ['| architecture | largest difference | shapes | replayed | interpreted | sr, us | eager / | TorchScript / | remark |',
             '| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |']
    for found in all_found:
        reason = found.get('reason') or found.get('call_error') or '; '.join(found.get('bailouts', []))[:200]
        if 'eager_error' in found:
            reason += f'rounding is amplified: eager differs by {found["eager_error"]:.1e} from float64'
        words = ': '.join(word for word in (verdict(found), reason) if word).replace('|', '\\|')
        if 'difference' not in found:
            lines.append(f'| {found["name"]} | | | | | | | | {words} |')
            continue
        ratios = [f'{value:.2f}' if (value := ratio(found, rival)) else '' for rival in ('eager', 'torchscript')]
        lines.append(f'| {found["name"]} | {found["difference"]:.1e} | {found["shapes"]}{"" if found["varies"] else " (static)"} | '
                     f'{found["replayed"]} | {", ".join(found["interpreted_ops"])} | {found["microseconds"]["sr"]:,.0f} | '
                     f'{" | ".join(ratios)} | {words} |')
    loaded = [found for found in all_found if 'difference' in found and 'call_error' not in found]
    agree = [found for found in loaded if agrees(found)]
    against = [value for found in agree if (value := ratio(found, 'torchscript'))]
    lines += ['', f'{len(all_found)} architectures: {len(loaded)} load and answer, {len(agree)} agree with eager (within {BOUND} but where rounding is amplified), '
              f'{sum(bool(found["replayed"]) for found in agree)} of them are replayed, '
              f'{sum(found["replayed"] and not found["interpreted"] for found in agree)} without an interpreted node.']
    if against:
        lines.append(f'Frozen TorchScript takes {statistics.median(against):.2f} times as long in the median; '
                     f'{sum(value < 1 for value in against)} of {len(against)} are slower in sr, the slowest by {1 / min(against):.2f}.')
    counts = collections.Counter(op for found in agree for op in found['interpreted_ops'])
    lines += [f'- {op} is interpreted in {count}' for op, count in counts.most_common()]
    return '\n'.join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--filter', type=re.compile, default=re.compile(''), help='only those whose package/name it finds')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--timeout', type=int, default=600, help='seconds for one architecture')
    parser.add_argument('--json', type=pathlib.Path, help='where to keep what was found, a line each; known ones are not measured again')
    parser.add_argument('--one', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.rounds)))
        return 0
    from architectures import BY_NAME
    names = [name for name in BY_NAME if options.filter.search(name)]
    if options.list:
        print('\n'.join(names))
        return 0
    known = {}
    if options.json and options.json.exists():
        known = {found['name']: found for line in options.json.read_text().splitlines() if (found := json.loads(line))}
    for i, name in enumerate(names):
        if name in known:
            continue
        start = time.monotonic()
        known[name] = measure_apart(name, options)
        if options.json:
            with options.json.open('a') as file:
                print(json.dumps(known[name]), file=file)
        say(f'{i + 1}/{len(names)} {name}: {verdict(known[name]) or "agrees"}, {time.monotonic() - start:.0f} s')
    all_found = [known[name] for name in names]
    print(table(all_found))
    return int(any(verdict(found).startswith(('differs', 'refused by crash')) for found in all_found))


if __name__ == '__main__':
    sys.exit(main())
