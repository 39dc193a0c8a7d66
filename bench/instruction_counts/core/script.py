"""The TorchScript model of a definition: pasted together from its statement, or scripted from its module, and saved."""

import hashlib
import linecache
import pathlib
import textwrap
from typing import Any, NamedTuple

import torch

from core.api import GroupedBenchmark
from core.types import DefinitionError

TYPES = {torch.Tensor: 'torch.Tensor', bool: 'bool', int: 'int', float: 'float', str: 'str'}


class Saved(NamedTuple):
    model: pathlib.Path
    inputs: pathlib.Path  # a list written by torch.save, which runner.cpp reads
    gives_tensor: bool


def digest(*parts: Any) -> str:
    return hashlib.sha256('\0'.join(map(str, parts)).encode()).hexdigest()[:16]


def execute(code: str, names: dict[str, Any]):
    """Runs code whose source TorchScript can read again, as it does for classes."""
    file = f'<code {digest(code)}>'
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    exec(compile(code, file, 'exec'), names)


def run_setup(benchmark: GroupedBenchmark) -> dict[str, Any]:
    names: dict[str, Any] = {'torch': torch, '__name__': 'setup'}
    torch.manual_seed(0)
    try:
        execute(benchmark.py_setup(), names)
    except Exception as error:
        raise DefinitionError(f'the Python set-up fails: {type(error).__name__}: {error}') from error
    return names


def annotation(name: str, value: Any) -> str:
    if isinstance(value, list) and value and type(value[0]) in TYPES:
        return f'list[{TYPES[type(value[0])]}]'
    if type(value) not in TYPES:
        raise DefinitionError(f"'{name}' is a {type(value).__name__}; TorchScript models are made of statements on "
                              f"{', '.join(TYPES.values())} and lists of these")
    return TYPES[type(value)]


def model_source(benchmark: GroupedBenchmark, names: dict[str, Any]) -> str:
    """A module whose forward is the statement."""
    inputs, output = benchmark.signature
    parameters = ''.join(f', {name}: {annotation(name, names[name])}' for name in inputs)
    body = benchmark.py_stmt + (f'\nreturn {output}' if output else '')
    head = f'class Pasted(torch.nn.Module):\n    def forward(self{parameters}):\n'
    return head + textwrap.indent(body, ' ' * 8) + '\n'


def make_model(benchmark: GroupedBenchmark, names: dict[str, Any]) -> torch.jit.ScriptModule:
    source = None if benchmark.py_model else model_source(benchmark, names)
    try:
        if source is None:
            return torch.jit.script(names['model'].eval())
        pasted = {'torch': torch, '__name__': 'pasted'}
        execute(source, pasted)
        return torch.jit.script(pasted['Pasted']().eval())
    except Exception as error:
        raise DefinitionError(f'`{benchmark.py_stmt}` is no TorchScript: {error}') from error


def check_gradient(benchmark: GroupedBenchmark, names: dict[str, Any]):
    """y.backward() needs a single element that depends on a tensor that requires gradients."""
    exec(benchmark.py_stmt, names)
    output = names[benchmark.signature.output]
    if not (isinstance(output, torch.Tensor) and output.numel() == 1 and output.requires_grad):
        kind = f'a tensor of {output.numel()}' if isinstance(output, torch.Tensor) else type(output).__name__
        raise DefinitionError(f"autograd=True needs an output of one element that wants a gradient; "
                              f"'{benchmark.signature.output}' of `{benchmark.py_stmt}` is {kind}"
                              f"{'' if getattr(output, 'requires_grad', True) else ', without one'}")


def save_script(benchmark: GroupedBenchmark, folder: pathlib.Path) -> Saved:
    """Files are named after the definition's code, so another run that finds them measures the same model."""
    names = run_setup(benchmark)
    model = make_model(benchmark, names)
    inputs = [names[name] for name in benchmark.signature.inputs]
    name = digest(benchmark.py_setup(), benchmark.py_stmt, benchmark.signature)
    saved, saved_inputs = folder / f'{name}.pt', folder / f'{name}.inputs.pt'
    folder.mkdir(parents=True, exist_ok=True)
    model.save(str(saved))
    torch.save([value.detach() if isinstance(value, torch.Tensor) else value for value in inputs], saved_inputs)
    with torch.no_grad():
        copies = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        return Saved(saved, saved_inputs, isinstance(model(*copies), torch.Tensor))
