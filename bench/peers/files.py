"""Writes the file of a model for each runtime, once: TorchScript, ONNX, and an AOTInductor package."""

import concurrent.futures
import copy
import hashlib
import logging
import multiprocessing
import pathlib
import re
import warnings
import zipfile
from typing import Callable

import torch

# Freezing packs weights for oneDNN, whose calls cost more than small products: which is faster depends on the model.
# `arrays` has the interface of borrowed arrays: nothing is checked, and the results lie in memory of the model.
ARRAYS = {'aot_inductor.allow_stack_allocation': True, 'aot_inductor.use_minimal_arrayref_interface': True}
PACKAGES = {'frozen': {'freezing': True}, 'plain': {'freezing': False}, 'arrays': {'freezing': True, **ARRAYS}}


class Identity(torch.nn.Module):
    """The cost of a call without a model: takes the same inputs and returns one of them."""

    def forward(self, *inputs):
        return inputs[0].clone()


def digest(module: torch.nn.Module, script: torch.jit.ScriptModule, inputs, dynamic_shapes) -> str:
    """A digest of everything that a model's file depends on, except the versions of the peers."""
    content = hashlib.sha256()
    # Without source locations, and without the numbers of types, which depend on earlier compilations.
    graph = re.sub(r' *#.*|___torch_mangle_\d+\.?', '', str(script.inlined_graph))
    for text in (graph, module, dynamic_shapes, PACKAGES, torch.__version__, torch.backends.cpu.get_cpu_capability()):
        content.update(str(text).encode())
    for tensor in (*module.state_dict().values(), *inputs):
        content.update(f'{tensor.dtype}{tuple(tensor.shape)}'.encode() + tensor.contiguous().numpy().tobytes())
    return content.hexdigest()[:16]


def make(path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> pathlib.Path:
    """Writes under a temporary name first, so that an interrupted write leaves no file."""
    if not path.exists():
        part = path.with_name(f'part-{path.name}')
        write(part)
        part.rename(path)
    return path


def write_onnx(module: torch.nn.Module, inputs, dynamic_shapes, path: pathlib.Path):
    torch.onnx.export(module, inputs, str(path), dynamic_shapes=dynamic_shapes, dynamo=True, external_data=False,
                      verbose=False)


def write_package(module: torch.nn.Module, inputs, dynamic_shapes, configuration: dict, path: pathlib.Path):
    exported = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
    with torch.no_grad():
        torch._inductor.aoti_compile_and_package(exported, package_path=str(path), inductor_configs=configuration)


def write_package_alone(*arguments):
    """In its own process: a process keeps the interface of the first package that it compiles.

    Copies are sent, since torch moves the memory of a tensor that it sends, and rivals are bound to its address.
    """
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as processes:
        processes.submit(write_package, *copy.deepcopy(arguments)).result()


class Files:
    """The files of a model below `root`. Those of peers are made on demand, since making one may fail.

    `calls` are the arguments of each call; with `dynamic_shapes`, as torch.export takes them, they differ in sizes.
    """

    def __init__(self, root: pathlib.Path, name: str, module: torch.nn.Module, calls: list, dynamic_shapes=None):
        warnings.filterwarnings('ignore')
        logging.getLogger('torch.onnx').setLevel(logging.ERROR)
        self.root, self.module, self.calls, self.dynamic_shapes = root, module, calls, dynamic_shapes
        self.inputs = calls[0]
        with torch.inference_mode():
            self.expected_of_calls = [module(*call) for call in calls]
        self.expected = self.expected_of_calls[0]
        script = torch.jit.script(self.module)
        every_input = [tensor for call in calls for tensor in call]
        self.folder = root / f'{name}-{digest(self.module, script, every_input, dynamic_shapes)}'
        self.folder.mkdir(parents=True, exist_ok=True)
        self.script = make(self.folder / 'model.pt', lambda path: torch.jit.freeze(script).save(str(path)))
        self.saved_inputs = make(self.folder / 'inputs.pt', lambda path: torch.save(list(self.inputs), path))
        whole_calls = [[*call, expected.clone()] for call, expected in zip(calls, self.expected_of_calls)]
        self.saved_calls = make(self.folder / 'calls.pt', lambda path: torch.save(whole_calls, path))

    def onnx(self) -> pathlib.Path:
        return make(self.folder / 'model.onnx',
                    lambda path: write_onnx(self.module, self.inputs, self.dynamic_shapes, path))

    def package(self, kind: str) -> pathlib.Path:
        return make(self.folder / f'{kind}.pt2',
                    lambda path: write_package_alone(self.module, self.inputs, self.dynamic_shapes, PACKAGES[kind], path))

    def library(self) -> pathlib.Path:
        """The shared library in the package of arrays, for a program that opens it itself."""
        def extract(path: pathlib.Path):
            with zipfile.ZipFile(self.package('arrays')) as package:
                library = next(name for name in package.namelist() if name.endswith('.so'))
                path.write_bytes(package.read(library))
        return make(self.folder / 'arrays.so', extract)

    def floor_inputs(self) -> tuple[torch.Tensor, ...]:
        return tuple(torch.zeros(1) for _ in self.inputs)

    def floor_onnx(self) -> pathlib.Path:
        path = self.root / f'identity-{len(self.inputs)}.onnx'
        return make(path, lambda part: write_onnx(Identity(), self.floor_inputs(), None, part))
