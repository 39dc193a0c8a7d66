"""`torch.compile(model, backend='sr')`, or `backend=sr.torch_backend` where the package is not installed."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch


_log = logging.getLogger('sr')


class _Graph(torch.nn.Module):
    """A captured graph whose only inputs are what differs between calls.

    Its other inputs are the parameters of the module that was compiled, and sizes of tensors among the inputs.
    """

    def __init__(self, graph: torch.fx.GraphModule, values: Sequence[Any], sizes: Mapping[int, tuple[int, int]]) -> None:
        super().__init__()
        self.graph, self.sizes, self.count = graph, sizes, len(values)
        self.parameters_at = {i for i, value in enumerate(values) if isinstance(value, torch.nn.Parameter)}
        for i in self.parameters_at:
            self.register_parameter(f'input_{i}', values[i])
        self.given = [i for i in range(self.count) if i not in self.parameters_at and i not in sizes]

    def forward(self, *given: Any) -> Any:
        values = dict(zip(self.given, given, strict=True))
        values |= {i: getattr(self, f'input_{i}') for i in self.parameters_at}
        values |= {i: values[tensor].shape[dim] for i, (tensor, dim) in self.sizes.items()}
        return self.graph(*(values[i] for i in range(self.count)))


def _sizes_among(graph: torch.fx.GraphModule) -> dict[int, tuple[int, int]]:
    """Of the inputs that are sizes: the tensor among the inputs, and its dimension."""
    inputs = [node.meta.get('example_value') for node in graph.graph.nodes if node.op == 'placeholder']
    found: dict[int, tuple[int, int]] = {}
    for i, symbol in enumerate(inputs):
        if not isinstance(symbol, torch.SymInt):
            continue
        for at, value in enumerate(inputs):
            dims = value.shape if isinstance(value, torch.Tensor) else ()
            found |= {i: (at, dim) for dim, size in enumerate(dims) if str(size) == str(symbol)}
    return found


def torch_backend(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """A backend of torch.compile: each captured graph runs in sr, or in eager mode where sr cannot take it.

    The logger 'sr' says why it cannot. Gradients are not computed, so call within `torch.no_grad()`.
    """
    sizes = _sizes_among(graph)
    made: list[tuple[Callable[..., Any], list[int]]] = []

    # At the first call, since torch.export cannot be called while torch.compile captures a graph.
    def make(values: Sequence[Any]) -> tuple[Callable[..., Any], list[int]]:
        everything = list(range(len(values)))
        if torch.is_grad_enabled() and any(isinstance(v, torch.Tensor) and v.requires_grad for v in values):
            _log.warning('torch.compile: a graph runs in eager mode, since gradients are on. Call within torch.no_grad().')
            return graph.forward, everything
        module = _Graph(graph, values, sizes).eval()
        try:
            from . import exported  # imports torch.export

            program = exported.export(module, tuple(values[i] for i in module.given), {})
            return exported.from_exported(program), module.given
        except Exception as error:
            _log.warning('torch.compile: a graph runs in eager mode. %s', error)
            return graph.forward, everything

    def run(*values: Any) -> Any:
        if not made:
            made.append(make(values))
        call, given = made[0]
        return call(*[values[i] for i in given])

    disabled: Callable[..., Any] = torch._dynamo.disable(run)  # type: ignore[no-untyped-call]
    return disabled
