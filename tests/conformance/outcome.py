"""What one call did, as a caller sees it, and in which way two of them differ."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import torch

from compare import Rules, difference
from layouts import copied

SEED = 20


@dataclasses.dataclass
class Outcome:
    inputs: tuple[torch.Tensor, ...]  # as they are afterwards
    result: Any = None
    thrown: str | None = None


def run(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...]) -> Outcome:
    """On copies of the inputs, and with the same random numbers every time."""
    outcome = Outcome(tuple(copied(tensor) for tensor in tensors))
    torch.default_generator.manual_seed(SEED)
    try:
        with torch.no_grad():
            outcome.result = function(*outcome.inputs)
    except Exception as error:
        outcome.thrown = str(error) or type(error).__name__
    return outcome


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for one in value for tensor in tensors_in(one)] if isinstance(value, (list, tuple)) else []


def sharing(outcome: Outcome) -> list[tuple[int, int]]:
    """For each tensor of inputs and result: its storage, by order of appearance, and where it starts there."""
    seen: dict[int, int] = {}
    pattern = []
    for tensor in (*outcome.inputs, *tensors_in(outcome.result)):
        if tensor.layout == torch.strided and tensor.numel():
            storage = seen.setdefault(tensor.untyped_storage().data_ptr(), len(seen))
            pattern.append((storage, tensor.storage_offset()))
    return pattern


def plain(message: str) -> str:
    """Types of tensors have another name below autograd."""
    return re.sub(r'CPU(\w+)Type', r'torch.\1Tensor', message)


def outcome_difference(expected: Outcome, actual: Outcome, rules: Rules = Rules()) -> str:
    """Of sr's outcome from the interpreter's."""
    if (expected.thrown is None) != (actual.thrown is None):
        return f'throws: {actual.thrown}' if actual.thrown else f'does not throw: {expected.thrown.splitlines()[-1]}'
    if expected.thrown is not None:
        said = plain(actual.thrown.splitlines()[0].split(' (while sr ran ')[0])  # the node, which sr adds
        if said not in plain(expected.thrown):
            return f'throws: {said}\nand the interpreter: {expected.thrown.splitlines()[-1]}'
    elif found := difference(expected.result, actual.result, rules):
        return found
    elif (theirs := sharing(expected)) != (ours := sharing(actual)):
        return f'aliasing of inputs and outputs: expected {theirs}, got {ours}'
    return difference(expected.inputs, actual.inputs, rules, 'inputs')
