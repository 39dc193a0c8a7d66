"""Writes the file of a model for each runtime, once: TorchScript, ONNX, and an AOTInductor package."""

import hashlib
import logging
import pathlib
import re
import warnings
import zipfile
from typing import Callable

import torch

from models import MODELS

# Freezing packs weights for oneDNN, whose calls cost more than small products: which is faster depends on the model.
# `arrays` has the interface of borrowed arrays: nothing is checked, and the results lie in memory of the model.
ARRAYS = {'aot_inductor.allow_stack_allocation': True, 'aot_inductor.use_minimal_arrayref_interface': True}
PACKAGES = {'frozen': {'freezing': True}, 'plain': {'freezing': False}, 'arrays': {'freezing': True, **ARRAYS}}


class Identity(torch.nn.Module):
    """The cost of a call without a model: takes the same inputs and returns one of them."""

    def forward(self, *inputs):
        return inputs[0].clone()


def digest(module: torch.nn.Module, script: torch.jit.ScriptModule, inputs) -> str:
    """A digest of everything that a model's file depends on, except the versions of the peers."""
    content = hashlib.sha256()
    # Without source locations, and without the numbers of types, which depend on earlier compilations.
    graph = re.sub(r' *#.*|___torch_mangle_\d+\.?', '', str(script.inlined_graph))
    for text in (graph, module, PACKAGES, torch.__version__, torch.backends.cpu.get_cpu_capability()):
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


def write_onnx(module: torch.nn.Module, inputs, path: pathlib.Path):
    torch.onnx.export(module, inputs, str(path), dynamo=True, external_data=False, verbose=False)


def write_package(module: torch.nn.Module, inputs, configuration: dict, path: pathlib.Path):
    exported = torch.export.export(module, inputs)
    with torch.no_grad():
        torch._inductor.aoti_compile_and_package(exported, package_path=str(path), inductor_configs=configuration)


class Files:
    """The files of a model below `root`. Those of peers are made on demand, since making one may fail."""

    def __init__(self, root: pathlib.Path, name: str):
        warnings.filterwarnings('ignore')
        logging.getLogger('torch.onnx').setLevel(logging.ERROR)
        self.root = root
        self.module, self.inputs = MODELS[name].make()
        with torch.inference_mode():
            self.expected = self.module(*self.inputs)
        script = torch.jit.script(self.module)
        self.folder = root / f'{name}-{digest(self.module, script, self.inputs)}'
        self.folder.mkdir(parents=True, exist_ok=True)
        self.script = make(self.folder / 'model.pt', lambda path: torch.jit.freeze(script).save(str(path)))
        self.saved_inputs = make(self.folder / 'inputs.pt', lambda path: torch.save(list(self.inputs), path))
        self.saved_call = make(self.folder / 'call.pt',
                               lambda path: torch.save([*self.inputs, self.expected.clone()], path))

    def onnx(self) -> pathlib.Path:
        return make(self.folder / 'model.onnx', lambda path: write_onnx(self.module, self.inputs, path))

    def package(self, kind: str) -> pathlib.Path:
        return make(self.folder / f'{kind}.pt2',
                    lambda path: write_package(self.module, self.inputs, PACKAGES[kind], path))

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
        return make(path, lambda part: write_onnx(Identity(), self.floor_inputs(), part))
