"""What a module says about itself."""

from typing import Any, NamedTuple

import torch


class Value(NamedTuple):
    """An argument or a result. `dtype` and `shape` are None where the model leaves them open."""

    name: str
    type: str  # as TorchScript writes it: 'Tensor', 'Optional[int]'
    dtype: torch.dtype | None
    shape: tuple[int | None, ...] | None
    has_default: bool
    default: Any


class Report(dict[str, Any]):
    """A dictionary that prints as a table: nodes, memory and plans of the runtime used last, and its pool."""

    def __repr__(self) -> str:
        return f"frontend: {self['frontend']}\n{self['text']}"


class QuantizationReport(dict[str, Any]):
    """A dictionary that prints as a table: layers with their errors and times, and the loss of the model.

    `layers` has the name, sizes, rows, error and times of each linear layer, and why it stayed in float.
    """

    def __repr__(self) -> str:
        return str(self['text'])
