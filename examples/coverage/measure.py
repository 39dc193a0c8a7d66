"""Exports, loads and times one architecture, and prints the result as JSON. main.py runs it in its own process."""

import functools
import io
import inspect
import json
import pathlib
import sys
import time
import warnings

import torch

import sr
from sr.rivals import time_in_rounds

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / 'models'))
from table import BOUND  # noqa: E402

CALLS = 4  # of a shape: the general path, the recording, replays


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f'{type(error).__name__}: {lines[0][:300] if lines else ""}'


def tensors_of(result) -> list:
    """The tensors of a nest of lists, tuples and dictionaries."""
    leaves, _ = torch.utils._pytree.tree_flatten(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def difference(found, wanted) -> float:
    """The largest difference of two results, divided by the largest magnitude in `wanted`."""
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


def export(model, arguments, varying):
    """With dimensions that vary where torch.export allows it, else with the sizes of the arguments."""
    # `*arguments` of a model is one argument for torch.export.
    starred = any(parameter.kind is parameter.VAR_POSITIONAL
                  for parameter in inspect.signature(model.forward).parameters.values())
    shapes = tuple({dim: torch.export.Dim.AUTO for dim in varying.get(i, ())} for i in range(len(arguments)))
    try:
        return torch.export.export(model, arguments, dynamic_shapes=(shapes,) if starred else shapes), True
    except Exception as error:
        print(f'coverage: static: {first_line(error)}', file=sys.stderr)
        return torch.export.export(model, arguments), False


def accepts(program, arguments) -> bool:
    """Whether the exported program itself takes the arguments: torch.export may have fixed their sizes."""
    try:
        program.module()(*arguments)
        return True
    except Exception:
        return False


def rounding(model, archive: bytes, calls, wanted) -> dict:
    """Two figures that tell amplified rounding from a wrong result: how far `numerics='exact'`, which runs eager's kernels,
    is from eager, and how far eager is from float64."""
    exact = sr.load(archive, intra_op_threads=1, numerics='exact')
    pairs = list(zip(calls, wanted))
    differences = [difference(exact(*arguments), expected) for arguments, expected in pairs for _ in range(CALLS)]

    def doubled(values):
        return torch.utils._pytree.tree_map(
            lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x, values)
    try:
        own = max(difference(doubled(expected), model.double()(*doubled(arguments))) for arguments, expected in pairs)
    finally:
        model.float()
    return {'exact_difference': max(differences), 'eager_error': own}


def measure(name: str, rounds: int) -> dict:
    """Measures the architecture. The result has `refused_by` and `reason` if it cannot be exported or loaded."""
    # The wheel of torchvision is built for CUDA, so its operators cannot be loaded with a CPU build of torch. timm and
    # transformers only import its Python modules, which need the schemas of these two operators.
    operators = torch.library.Library('torchvision', 'DEF')
    for operator in ('nms', 'qnms'):
        operators.define(f'{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
    from architectures import BY_NAME
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
            program, varies = export(model, calls[0], architecture.varying)
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
                if accepts(program, arguments):
                    found.setdefault('call_error', first_line(error))
        if worst > BOUND:
            found |= rounding(model, archive.getvalue(), calls, wanted)
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
        found['microseconds'] = time_in_rounds(
            {name: functools.partial(runner, *calls[0]) for name, runner in runners.items()}, rounds=rounds, seconds=0.1)
    return found


if __name__ == '__main__':
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
