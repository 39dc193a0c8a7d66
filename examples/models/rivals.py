"""One model in every runtime that Python can call, made from the same module.

All are called alike: tensors in, a tensor out; any batch size and length that the program says is dynamic.
"""

import contextlib
import io
import logging
import pathlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

Runner = Callable[..., torch.Tensor]


class Program(NamedTuple):
    name: str
    module: torch.nn.Module
    example: tuple[torch.Tensor, ...]  # arguments to trace and export with
    inputs: tuple[str, ...]  # names of the arguments
    dynamic_shapes: tuple[dict[int, Any], ...]  # of the arguments, as torch.export takes them


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Warnings of front ends are about shapes: the comparison of many shapes answers them."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter('ignore')
        yield


def traced(program: Program) -> Any:
    return torch.jit.trace(program.module, program.example, strict=False)


def exported(program: Program) -> torch.export.ExportedProgram:
    return torch.export.export(program.module, program.example, dynamic_shapes=program.dynamic_shapes)


def sr_trace(program: Program) -> Runner:
    import sr

    return sr.StaticModule(traced(program))


def sr_export(program: Program) -> Runner:
    import sr

    return sr.from_exported(exported(program))


def sr_int8(program: Program) -> Runner:
    """Layers with an error above 2.5 % stay in float: similarities of sentences then keep their order."""
    import sr

    return sr.quantize(sr.from_exported(exported(program)), [program.example], max_layer_error=0.025)[0]


def eager(program: Program) -> Runner:
    return program.module


def torch_jit(program: Program) -> Runner:
    return torch.jit.optimize_for_inference(torch.jit.freeze(traced(program)))


def upstream(program: Program) -> Runner:
    return torch._C._jit_to_static_module(traced(program)._c)


def torch_compile(program: Program) -> Runner:
    """Compiled once for each shape, which is the fastest it can be."""
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(program.module, dynamic=False)


def write_onnx(program: Program, path: pathlib.Path) -> None:
    for name in ('onnxscript', 'torch.onnx'):  # they count what is not installed
        logging.getLogger(name).setLevel(logging.ERROR)
    torch.onnx.export(program.module, program.example, str(path), dynamo=True, verbose=False,
                      input_names=list(program.inputs), dynamic_shapes=program.dynamic_shapes)


def onnx_runner(path: pathlib.Path) -> Runner:
    from sr.rivals import onnx_session

    session = onnx_session(path)
    names = [wanted.name for wanted in session.get_inputs()]

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        arrays = {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}
        return torch.from_numpy(session.run(None, arrays)[0])

    return call


def onnx_runtime(program: Program) -> Runner:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'model.onnx'
        write_onnx(program, path)
        return onnx_runner(path)


def onnx_runtime_int8(program: Program) -> Runner:
    """With a scale for each output of a layer, as sr has."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path, int8_path = pathlib.Path(folder) / 'model.onnx', pathlib.Path(folder) / 'int8.onnx'
        write_onnx(program, path)
        model = onnx.load(str(path))
        del model.graph.value_info[:]  # of weights that the quantizer transposes
        quantize_dynamic(model, str(int8_path), per_channel=True, weight_type=QuantType.QInt8)
        return onnx_runner(int8_path)


# The first is what the tables compare with.
RIVALS: dict[str, Callable[[Program], Runner]] = {
    'sr, traced': sr_trace,
    'sr, exported': sr_export,
    'sr, int8': sr_int8,
    'eager': eager,
    'torch.jit': torch_jit,
    'upstream': upstream,
    'torch.compile': torch_compile,
    'ONNX Runtime': onnx_runtime,
    'ONNX Runtime, int8': onnx_runtime_int8,
}


def make_runner(name: str, program: Program) -> Runner:
    with quietly():
        return RIVALS[name](program)
