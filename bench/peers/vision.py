"""Published vision networks with random weights: sr against TorchScript, ONNX Runtime and OpenVINO, in one process.

`.venv-peers` needs two packages more: timm and torchvision. All write into buffers of the caller, but for TorchScript. The
last line has the geometric mean of the fastest rival's time over sr's.

`--int8` compares quantized networks, each quantized by the tool of its runtime: PT2E for sr, ONNX Runtime's quantize_static,
and nncf for OpenVINO. It needs torchao and nncf as well.

`--shapes FILE` writes the convolutions of the networks instead, for `./dev bench convolutions --shapes FILE`.
"""

import argparse
import logging
import pathlib
import statistics
import time
import typing
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
QUANTIZED = ('resnet50', 'mobilenetv2_100', 'efficientnet_b0')
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


def checked(name: str, makers: dict, expected: torch.Tensor, args: argparse.Namespace, tolerance: float) -> dict[str, float]:
    """Milliseconds of each runner. Runners that fail are left out, with a line that says why."""
    calls = {}
    for runner_name, start in makers.items():
        out = torch.zeros_like(expected)
        try:
            call = start(out)
            result = call()
            result = result if runner_name == 'TorchScript' else out
            difference, most = (result - expected).abs().max().item(), expected.abs().max().item()
            if not difference <= tolerance * (most + 1):
                raise ValueError(f"its output differs from eager's by {difference:.1e} of {most:.1e}")
            calls[runner_name] = call
        except Exception as error:  # any exception of a rival is reported
            if runner_name == 'sr':
                raise
            say(f'{name}: {runner_name}: {type(error).__name__}: {error}')
    return {key: value / 1e3 for key, value in time_in_rounds(calls, rounds=args.rounds, seconds=args.slice).items()}


def onnx_of(name: str, module: torch.nn.Module, image: torch.Tensor, args: argparse.Namespace) -> pathlib.Path:
    return make(args.data / f'{name}-{args.batch}.onnx', lambda part: write_onnx(module, (image,), None, part))


def times_of(name: str, args: argparse.Namespace) -> dict[str, float]:
    module, image = network(name), torch.randn(args.batch, 3, EDGE, EDGE)
    path = onnx_of(name, module, image, args)
    runner = sr.from_exported(torch.export.export(module, (image,)))
    makers = {
        'sr': lambda out: runner.bind(image, out=out),
        'TorchScript': lambda _: frozen(module, image),
        'ONNX Runtime': lambda out: rivals.onnx_runtime(path, (image,), out, args.threads),
        'OpenVINO': lambda out: rivals.open_vino(path, (image,), out, args.threads),
    }
    return checked(name, makers, module(image), args, tolerance=1e-3)


def quantized_by_pt2e(module: torch.nn.Module, images: list[torch.Tensor]) -> torch.export.ExportedProgram:
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as of_x86
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = of_x86.X86InductorQuantizer().set_global(of_x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (images[0],)).module(), quantizer)
    for image in images:
        prepared(image)
    return torch.export.export(convert_pt2e(prepared), (images[0],))


def write_qdq(path: pathlib.Path, images: list[torch.Tensor], to: pathlib.Path):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(CalibrationDataReader):
        def __init__(self, name):
            self.left = [{name: image.numpy()} for image in images]

        def get_next(self):
            return self.left.pop() if self.left else None

    prepared = to.with_name(f'prepared-{to.name}')
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    name = sr.rivals.onnx_session(path, 1, True).get_inputs()[0].name
    quantize_static(prepared, to, Images(name), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    prepared.unlink()


def write_by_nncf(path: pathlib.Path, images: list[torch.Tensor], to: pathlib.Path):
    import nncf
    import onnx

    model = onnx.load(path)
    data = nncf.Dataset([{model.graph.input[0].name: image.numpy()} for image in images])
    onnx.save(nncf.quantize(model, data, subset_size=len(images)), to)


def int8_times_of(name: str, args: argparse.Namespace) -> dict[str, float]:
    module, images = network(name), [torch.randn(args.batch, 3, EDGE, EDGE) for _ in range(4)]
    image = images[0]
    path, program = onnx_of(name, module, image, args), quantized_by_pt2e(module, images)
    of_floats, runner = sr.from_exported(torch.export.export(module, (image,))), sr.from_exported(program)

    def file(kind: str, write: typing.Callable) -> pathlib.Path:
        return make(args.data / f'{name}-{args.batch}-{kind}.onnx', lambda part: write(path, images, part))

    makers = {
        'sr': lambda out: runner.bind(image, out=out),
        'sr, floats': lambda out: of_floats.bind(image, out=out),
        'ONNX Runtime': lambda out: rivals.onnx_runtime(file('qdq', write_qdq), (image,), out, args.threads),
        'OpenVINO': lambda out: rivals.open_vino(file('nncf', write_by_nncf), (image,), out, args.threads),
    }
    # Each tool chooses its own scales, and random weights enlarge what an activation is rounded by.
    return checked(name, makers, program.module()(image), args, tolerance=0.5)


def write_shapes(names: list[str], to: pathlib.Path):
    """A line for each shape, in,out,size,kernel,step,groups; square ones with the usual padding only."""
    lines = {}

    def note(layer: torch.nn.Conv2d, inputs: tuple, _):
        size, kernel, step = (set(pair) for pair in (inputs[0].shape[2:], layer.kernel_size, layer.stride))
        pad = {edge // 2 for edge in kernel}
        if len(size) == len(kernel) == len(step) == 1 and set(layer.padding) == pad and layer.dilation == (1, 1):
            fields = layer.in_channels, layer.out_channels, *size, *kernel, *step, layer.groups
            lines[','.join(map(str, fields))] = None

    for name in names:
        module = network(name)
        for layer in module.modules():
            if isinstance(layer, torch.nn.Conv2d):
                layer.register_forward_hook(note)
        module(torch.randn(1, 3, EDGE, EDGE))
    to.write_text('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser(prog='./dev bench peers vision', description=__doc__)
    parser.add_argument('--names', help='separated by commas; all by default')
    parser.add_argument('--int8', action='store_true', help='quantized networks')
    parser.add_argument('--shapes', type=pathlib.Path, help='write the shapes of their convolutions to this file')
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
    columns, ratios = ('sr', 'sr, floats' if args.int8 else 'TorchScript', 'ONNX Runtime', 'OpenVINO'), []
    names = args.names.split(',') if args.names else QUANTIZED if args.int8 else OF_TIMM + OF_TORCHVISION
    if args.shapes:
        with torch.inference_mode():
            return write_shapes(names, args.shapes)
    print(f'| {EDGE} x {EDGE}, batch {args.batch}, threads {args.threads}, ms | {" | ".join(columns)} | fastest rival / sr |')
    print('|---' * (len(columns) + 2) + '|')
    with torch.inference_mode():
        for name in names:
            start = time.monotonic()
            times = (int8_times_of if args.int8 else times_of)(name, args)
            ratios.append(min(times[key] for key in times if not key.startswith('sr')) / times['sr'])
            cells = (f'{times[key]:.2f}' if key in times else '-' for key in columns)
            print(f'| {name} | {" | ".join(cells)} | {ratios[-1]:.2f} |', flush=True)
            say(f'{name}, {time.monotonic() - start:.0f} s')
    print(f'\nGeometric mean: {statistics.geometric_mean(ratios):.2f}')


if __name__ == '__main__':
    main()
