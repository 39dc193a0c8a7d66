"""Models in int8: sr.quantize against ONNX Runtime's dynamic quantization and OpenVINO, one thread: a table in Markdown.

All are called from Python in one process, in interleaved rounds, and write into buffers of the caller. OpenVINO runs the file
that ONNX Runtime quantized, with a scale for each column of a weight, as sr has.
"""

import argparse
import pathlib
import re
import sys
import time
import warnings
from typing import Callable, NamedTuple

import onnx
import sr
import torch
from onnxruntime import quantization
from sr.rivals import time_in_rounds
from torch import nn

import main as peers
import rivals
from files import Files, make
from models import SEED, Dlrm, linear, transformer


class Model(NamedTuple):
    module: Callable[[], nn.Module]
    width: int
    rows: tuple[int, ...]


def twelve_linears() -> nn.Module:
    layers = []
    for _ in range(6):
        layers += [linear(384, 1536), nn.ReLU(), linear(1536, 384)]
    return nn.Sequential(*layers)


MODELS = {
    'twelve linears 384 <-> 1536': Model(twelve_linears, 384, (1, 8, 32, 128)),
    'MiniLM: BERT of 6 layers 384': Model(lambda: transformer(6, 384, 12, 1536), 384, (16, 64, 128)),
}


def error(result: torch.Tensor, expected: torch.Tensor) -> float:
    return ((result - expected).norm() / expected.norm()).item()


def write_int8(source: pathlib.Path, path: pathlib.Path):
    model = onnx.load(str(source))
    del model.graph.value_info[:]  # of weights that the quantizer transposes
    quantization.quantize_dynamic(model, str(path), per_channel=True, weight_type=quantization.QuantType.QInt8)


def int8_onnx(files: Files) -> pathlib.Path:
    return make(files.folder / 'int8.onnx', lambda path: write_int8(files.onnx(), path))


def calls_of(files: Files, reasons: dict[str, str]) -> dict[str, tuple[rivals.Call, torch.Tensor]]:
    """Calls with the buffers that they write into."""
    module = torch.jit.load(str(files.script))
    quantized, report = sr.quantize(module, [tuple(files.inputs)])
    reasons['sr int8'] = f"{sum(layer['is_quantized'] for layer in report['layers'])} of {len(report['layers'])} layers"

    def bound(made: sr.StaticModule):
        return lambda inputs, out: made.bind(*inputs, out=out)

    makers = {
        'eager': lambda inputs, out: lambda: files.module(*inputs),
        'sr': bound(sr.StaticModule(module, freeze_weights=True)),
        'sr int8': bound(quantized),
        'ONNX Runtime': lambda inputs, out: rivals.onnx_runtime(files.onnx(), inputs, out),
        'ONNX Runtime int8': lambda inputs, out: rivals.onnx_runtime(int8_onnx(files), inputs, out),
        'OpenVINO int8': lambda inputs, out: rivals.open_vino(int8_onnx(files), inputs, out),
    }
    calls = {}
    for name, start in makers.items():
        output = torch.zeros(files.expected.shape)
        try:
            call = start(tuple(files.inputs), output)
            for _ in range(4):
                result = call()
        except Exception as failure:  # any exception of a peer is reported
            reasons[name] = f'{type(failure).__name__}: {failure}'
            continue
        calls[name] = call, result if name == 'eager' else output
    return calls


def measure(name: str, rows: int, args: argparse.Namespace) -> list[str]:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    model = MODELS[name]
    module = model.module().eval().requires_grad_(False)
    files = Files(args.data, re.sub(r'\W+', '_', f'int8 {name} {rows}'), module, [(torch.randn(rows, model.width),)])
    reasons: dict[str, str] = {}
    calls = calls_of(files, reasons)
    for peer, why in reasons.items():
        peers.say(f'{name}, {rows} rows, {peer}: {why}')
    errors = {peer: error(buffer, files.expected) for peer, (_, buffer) in calls.items()}
    with torch.inference_mode():
        times = time_in_rounds({peer: call for peer, (call, _) in calls.items()}, rounds=args.rounds,
                               seconds=args.slice_ms * 1e-3)
    ours = times['sr int8']

    def over(peer: str) -> str:
        return f'{times[peer] / ours:.2f}' if peer in times else '-'

    def lost(peer: str) -> str:
        return f'{errors[peer]:.4f}' if peer in errors else '-'

    return [name, str(rows), f'{ours:.1f}', over('eager'), over('sr'), over('ONNX Runtime'), over('ONNX Runtime int8'),
            over('OpenVINO int8'), lost('sr int8'), lost('ONNX Runtime int8'), lost('OpenVINO int8')]


class BigDlrm(Dlrm):
    """Tables that no cache holds."""

    ROWS = 100_000


def measure_tables(batch: int, args: argparse.Namespace) -> list[str]:
    """sr's float model against its int8 model, tables included, on calls that read other rows each."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    module = torch.jit.script(BigDlrm().eval().requires_grad_(False))
    tables = len(module.tables)
    calls = [(torch.randn(batch, 13), torch.randint(BigDlrm.ROWS, (batch, tables))) for _ in range(256)]
    quantized, report = sr.quantize(module, calls[:4], tables=True)
    in_float = sr.StaticModule(module, freeze_weights=True)
    expected = [in_float(*call) for call in calls]
    lost = max(error(quantized(*call), wanted) for call, wanted in zip(calls, expected))

    def turn(made: sr.StaticModule) -> rivals.Call:
        def run():
            for call in calls:
                made(*call)
        return run

    with torch.inference_mode():
        turns = time_in_rounds({'int8': turn(quantized), 'float': turn(in_float)}, rounds=args.rounds,
                               seconds=args.slice_ms * 1e-3)
    ours, floats = (each / len(calls) for each in turns.values())
    in_int8 = sum(layer['is_quantized'] for layer in report['layers'])
    return ['DLRM, 26 tables of 100,000 x 64', str(batch), f"{report['float_bytes'] / 2 ** 20:.0f}",
            f"{report['int8_bytes'] / report['float_bytes']:.2f}", f"{in_int8} of {len(report['layers'])}", f'{ours:.1f}',
            f'{floats / ours:.2f}', f'{lost:.4f}']


def main():
    warnings.filterwarnings('ignore')
    parser = argparse.ArgumentParser(prog='./dev bench peers int8', description=__doc__)
    peers.add_options(parser, rounds=15, slice_ms=10)
    args = parser.parse_args()
    peers.make_data_folder(args.data)
    print('| model | rows | sr int8, us | eager / | sr float / | ONNX Runtime / | ONNX Runtime int8 / | OpenVINO int8 / | '
          'error of sr | of ONNX Runtime | of OpenVINO |')
    print('| --- |' + ' ---: |' * 10)
    for name, model in MODELS.items():
        if not re.search(args.filter, name):
            continue
        for rows in model.rows:
            start = time.monotonic()
            print('|', ' | '.join(measure(name, rows, args)), '|', flush=True)
            peers.say(f'{name}, {rows} rows, {time.monotonic() - start:.0f} s')
    if re.search(args.filter, 'DLRM'):
        print('\n| model | batch | weights, MiB | int8 / float | layers in int8 | sr int8, us | sr float / | error |')
        print('| --- |' + ' ---: |' * 7)
        for batch in 1, 64:
            print('|', ' | '.join(measure_tables(batch, args)), '|', flush=True)


if __name__ == '__main__':
    sys.exit(main())
