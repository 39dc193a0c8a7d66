"""One sample of an entry as a TorchScript function whose inputs are tensors alone; all else is a constant in it."""

import dataclasses
import hashlib
import math  # noqa: F401  (scripts name it)
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from entries import quiet


class NotExportable(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Exported:
    form: str
    script: torch.jit.ScriptFunction
    key: str  # alike for samples whose graphs are
    eager: Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Call:
    """The arguments of a sample: its tensors, and how the rest goes around them."""

    tensors: tuple[torch.Tensor, ...]
    leaves: tuple[Any, ...]
    spec: pytree.TreeSpec

    def arguments(self, tensors: tuple[Any, ...]) -> tuple[tuple, dict]:
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        return pytree.tree_unflatten(leaves, self.spec)

    def eager(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*tensors: torch.Tensor) -> Any:
            args, kwargs = self.arguments(tensors)
            return function(*args, **kwargs)
        return run


def call_of(sample: Any) -> Call:
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
    return Call(tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor)), tuple(leaves), spec)


# --- forms ---------------------------------------------------------------------------------------------------------

def traced(form: str, function: Callable[..., Any], call: Call, inputs: tuple[torch.Tensor, ...]) -> Exported:
    eager = call.eager(function)
    try:
        with quiet(), torch.no_grad():
            script = torch.jit.trace(eager, inputs, check_trace=False, strict=False)
    except Exception as error:
        raise NotExportable(reason_of(error)) from None
    return Exported(form, script, key_of(form, script), eager)


def scripted(form: str, name: str, function: Callable[..., Any], call: Call) -> Exported:
    """`name` is what stands before the arguments; one that starts with a dot is a method of the first."""
    names = iter(f'i{i}' for i in range(len(call.tensors)))
    try:
        leaves = [next(names) if isinstance(leaf, torch.Tensor) else literal(leaf) for leaf in call.leaves]
        (args, kwargs) = pytree.tree_unflatten(leaves, call.spec)
        texts = [nested(arg) for arg in args] + [f'{key}={nested(value)}' for key, value in kwargs.items()]
        callee, arguments = (texts[0] + name, texts[1:]) if name.startswith('.') else (name, texts)
        formals = ', '.join(f'i{i}' for i in range(len(call.tensors)))
        source = f'def scripted({formals}):\n    return {callee}({", ".join(arguments)})\n'
        with quiet():
            script = torch.jit.CompilationUnit(source).scripted
            graph = script.graph  # compiles
    except NotExportable:
        raise
    except Exception as error:
        raise NotExportable(reason_of(error)) from None
    del graph
    return Exported(form, script, key_of(form, script), call.eager(function))


def nested(value: Any) -> str:
    """A tree whose leaves are source text already."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, torch.Size)):
        return '[' + ', '.join(nested(one) for one in value) + ']'
    if type(value) is tuple:
        return '(' + ''.join(nested(one) + ', ' for one in value) + ')'
    raise NotExportable(f'a {type(value).__name__} cannot be written as a literal')


def literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, complex):
        return f'complex({literal(value.real)}, {literal(value.imag)})'
    if isinstance(value, torch.device):
        return f"torch.device('{value}')"
    if isinstance(value, str):
        return ascii(value)
    if value is None or type(value) in (bool, int, float, torch.dtype, torch.layout, torch.memory_format):
        return str(value)
    raise NotExportable(f'a {type(value).__name__} cannot be written as a literal')


def reason_of(error: BaseException) -> str:
    """The sentence of an error that says what was wrong, without places."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith(('The above operation', 'The following'))]
    text = lines[0] if lines else ''
    return f'{type(error).__name__}: {text}'[:160]


# --- which exports are the same --------------------------------------------------------------------------------------

def key_of(form: str, script: torch.jit.ScriptFunction) -> str:
    """Graphs are alike when they are but for the shapes a trace noted down, constants' bytes included."""
    graph = script.graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_erase_shape_information(graph)
    digest = hashlib.sha256(f'{form}\n{graph.str(False)}'.encode())
    for node in graph.findAllNodes('prim::Constant'):
        if node.hasAttribute('value') and node.kindOf('value') == 't':
            constant = node.t('value')
            digest.update(repr((constant.dtype, constant.shape, constant.tolist())).encode())
    return digest.hexdigest()[:16]


def script_names(op: Any) -> tuple[str, ...]:
    """Where scripts find an entry: as a function of torch, or as a method."""
    return (f'torch.{op.name}', f'.{op.name}')
