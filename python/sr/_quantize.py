"""Linear layers of a float model in 8 or 4 bits."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import torch

from . import _C
from ._compile import compile
from ._module import StaticModule
from ._options import Options, checked, of_module
from ._progress import shown
from ._report import QuantizationReport
from .errors import ArgumentError, QuantizationError

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def _call_of(given: Any) -> _Call:
    if isinstance(given, torch.Tensor):
        return (given,), {}
    if isinstance(given, Mapping):
        return (), dict(given)
    if isinstance(given, tuple) and list(map(type, given)) == [tuple, dict]:
        return given[0], dict(given[1])
    if isinstance(given, tuple | list):
        return tuple(given), {}
    raise ArgumentError(f'sr.quantize was given a {type(given).__name__} among its inputs; expected the arguments of a '
                        'call: a tensor, a tuple of positional arguments, a dictionary of keyword arguments, or a tuple '
                        'of such a tuple and such a dictionary.')


def quantize(model: Any, inputs: Sequence[Any], *, bits: int = 8, group: int = 0, max_layer_error: float | None = None,
             max_time_ratio: float = 1.0, tables: bool = False, recurrent: bool = False, min_cosine: float = 0.99,
             max_difference: float = math.inf, loss: Callable[[Any, Any], float] | None = None, max_loss: float = math.inf,
             **options: Unpack[Options]) -> tuple[StaticModule, QuantizationReport]:
    """A module with the linear layers of `model` in 8 or 4 bits, and a report on what that costs and gains.

    Needs no training and no calibration: weights are rounded once to `bits` (8 or 4), with a scale for each `group` of
    elements of an output (a multiple of 8; 0: for all of them with 8 bits, for 32 with 4), and rows of activations to int8
    when they are multiplied. `model` is an nn.Module, a scripted module or a StaticModule, and is not
    changed. `inputs` are calls that stand for its use, each a tensor, a tuple of positional arguments, a dictionary of
    keyword arguments, or a tuple of both.

    A layer stays in float if its error on the inputs is above `max_layer_error` (the norm of the difference of its
    results over the norm of the float results; None: 0.05 with 8 bits, 0.15 with 4), if its inputs are no multiple of the group, or if it does not take less than `max_time_ratio` of its float time here
    (`math.inf`: times are not measured). With `tables=True` embedding tables become bytes, too, a quarter of the memory. With
    `recurrent=True` weights of recurrent networks and cells become int8, and are multiplied as floats: a step of few rows
    reads a quarter of the bytes. Neither is timed. Then the model's results are compared with the float model's. Raises
    QuantizationError if the cosine of a result and its float twin is below `min_cosine`, if an element differs by more
    than `max_difference`, or if the mean of your own `loss(float_result, result)` over the inputs is above `max_loss`;
    the exception's `report` says where the loss comes from. Other keywords are options of the module that is made.

    >>> import torch, sr
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).eval()
    >>> module, report = sr.quantize(model, [torch.randn(8, 256)], max_time_ratio=float('inf'))
    >>> [layer['is_quantized'] for layer in report['layers']]
    [True, True]
    >>> module.save('int8.pt')                                                              # doctest: +SKIP
    """
    if isinstance(inputs, torch.Tensor | Mapping):
        raise ArgumentError('sr.quantize was given one call as its inputs; expected a list of calls.')
    calls = [_call_of(given) for given in inputs]
    if not calls:
        raise ArgumentError('sr.quantize was given no inputs; expected the arguments of one call or more that stand for '
                            "the model's use.")
    chosen = checked(dict(options))
    if isinstance(model, StaticModule):
        module, chosen = model, model.options | chosen
        module._require_own_weights('sr.quantize')
    else:
        module = compile(model, *calls[0], **options)
    nested_loss = None
    if loss is not None:
        def nested_loss(expected: Any, result: Any) -> float:
            return float(loss(expected, result))
    with shown('sr.quantize: measuring layers'):
        prepared, refusal, described = _C.quantize(
            module, calls, of_module(chosen), bits=bits, group=group, max_layer_error=max_layer_error,
            max_time_ratio=max_time_ratio, tables=tables, recurrent=recurrent, min_cosine=min_cosine, max_difference=max_difference,
            loss=nested_loss, max_loss=max_loss)
    report = QuantizationReport(described)
    if prepared is None:
        raise QuantizationError(refusal or '', report)
    return module._prepared_anew(prepared, chosen), report
