"""A model that is exported in the tests, and the arguments of its calls."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Case:
    name: str
    module: nn.Module
    calls: list[tuple[tuple, dict]]  # the first is the one that is exported
    dynamic_shapes: object = None


CASES: list[Case] = []


def randn(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, dtype=dtype)


def call(*args, **kwargs):
    return args, kwargs


def register(module_class, calls, dynamic_shapes=None):
    torch.manual_seed(0)
    CASES.append(Case(module_class.__name__, module_class().eval(), calls, dynamic_shapes))
