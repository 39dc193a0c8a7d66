"""Published vision networks with random weights: sr against TorchScript, ONNX Runtime and OpenVINO, in one process.

`.venv-peers` needs two packages more: timm and torchvision. All write into buffers of the caller, but for TorchScript. The
last line has the geometric mean of the fastest rival's time over sr's.
"""

import argparse
import logging
import pathlib
import statistics
import time
import warnings

import sr
import torch
from sr.rivals import time_in_rounds

import rivals
from files import make, write_onnx
from main import ROOT, say

OF_TIMM = ('resnet18', 'resnet50', 'mobilenetv3_small_100', 'mobilenetv2_100', 'efficientnet_b0', 'densenet121',
           'regnety_004', 'convnext_atto', 'vit_tiny_patch16_224', 'vgg11', 'ghostnet_100')
OF_TORCHVISION = ('squeezenet1_1', 'shufflenet_v2_x1_0')
EDGE = 224


def import_torchvision():
    """Its compiled operators do not load beside every build of torch. No network needs them."""
    register, torch.library.register_fake = torch.library.register_fake, lambda *_, **__: lambda function: function
    try:
        import torchvision
    finally:
        torch.library.register_fake = register
    return torchvision


def network(name: str) -> torch.nn.Module:
    torchvision = import_torchvision()
    torch.manual_seed(0)
    if name in OF_TORCHVISION:
        return getattr(torchvision.models, name)(weights=None).eval()
    import timm

    return timm.create_model(name, pretrained=False, exportable=True).eval()


def frozen(module: torch.nn.Module, image: torch.Tensor) -> rivals.Call:
    script = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, image)))
    for _ in range(3):  # the first calls record, optimize and compile
        script(image)
    return lambda: script(image)


def times_of(name: str, args: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each runner. Runners that fail are left out, with a line that says why."""
    module, image = network(name), torch.randn(args.batch, 3, EDGE, EDGE)
    expected = module(image)
    path = make(args.data / f'{name}-{args.batch}.onnx', lambda part: write_onnx(module, (image,), None, part))
    runner = sr.from_exported(torch.export.export(module, (image,)))
    makers = {
        'sr': lambda out: runner.bind(image, out=out),
        'TorchScript': lambda _: frozen(module, image),
        'ONNX Runtime': lambda out: rivals.onnx_runtime(path, (image,), out, args.threads),
        'OpenVINO': lambda out: rivals.open_vino(path, (image,), out, args.threads),
    }
    calls = {}
    for runner_name, start in makers.items():
        out = torch.zeros_like(expected)
        try:
            call = start(out)
            result = call()
            rivals.check(result if runner_name == 'TorchScript' else out, expected)
            calls[runner_name] = call
        except Exception as error:  # any exception of a rival is reported
            if runner_name == 'sr':
                raise
            say(f'{name}: {runner_name}: {type(error).__name__}: {error}')
    return {key: value / 1e3 for key, value in time_in_rounds(calls, rounds=args.rounds, seconds=args.slice).items()}


def main():
    parser = argparse.ArgumentParser(prog='./dev bench peers vision', description=__doc__)
    parser.add_argument('--names', default=','.join(OF_TIMM + OF_TORCHVISION), help='separated by commas')
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--slice', type=float, default=0.25, help='seconds of each runner in a round')
    parser.add_argument('--data', type=pathlib.Path, default=ROOT / '.data' / 'vision')
    args = parser.parse_args()
    warnings.filterwarnings('ignore')
    logging.getLogger('torch.onnx').setLevel(logging.ERROR)
    torch.set_num_threads(args.threads)
    args.data.mkdir(parents=True, exist_ok=True)
    columns, ratios = ('sr', 'TorchScript', 'ONNX Runtime', 'OpenVINO'), []
    print(f'| {EDGE} x {EDGE}, batch {args.batch}, threads {args.threads}, ms | {" | ".join(columns)} | fastest rival / sr |')
    print('|---' * (len(columns) + 2) + '|')
    with torch.inference_mode():
        for name in args.names.split(','):
            start = time.monotonic()
            times = times_of(name, args)
            ratios.append(min(times[key] for key in times if key != 'sr') / times['sr'])
            cells = (f'{times[key]:.2f}' if key in times else '-' for key in columns)
            print(f'| {name} | {" | ".join(cells)} | {ratios[-1]:.2f} |', flush=True)
            say(f'{name}, {time.monotonic() - start:.0f} s')
    print(f'\nGeometric mean: {statistics.geometric_mean(ratios):.2f}')


if __name__ == '__main__':
    main()
