"""Joins the requests of many callers to batches of one model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _C
from . import tracing as _tracing
from ._future import Future
from ._module import StaticModule
from ._session import Session
from .errors import ArgumentError


@dataclass(frozen=True)
class BatcherReport:
    """What a batcher has done; counts are of requests unless they say otherwise."""

    requests: int  # accepted
    refused: int  # with BusyError
    cancelled: int  # while they waited
    failed: int  # with an exception of the model
    batches: int
    rows: int
    divided: int  # batches that raised, whose requests then ran one by one
    waiting_seconds: float  # of all requests, until their batch began
    waiting: int  # now
    running: int  # batches, now
    batches_by_rows: dict[int, int]  # number of batches with at most 1, 2, 4, 8, ... rows


class Batcher:
    """Joins the requests of many threads to batches of a module.

    Called as the module is, by any number of threads; each gets the result of its own request. A request that finds
    no others runs at once. The rows of a batch must not depend on each other: results are divided along `dim`. A bad
    request fails alone. `submit` returns a `sr.Future`, which can be awaited. The module keeps its own options.

    dim: where the rows lie, in every tensor of the arguments and of the result. None: the first dimension that an
    exported program leaves open in all arguments that have such dimensions, else 0.
    shared: names of arguments that are the same tensor in all requests; those of an exported program whose sizes are
    all fixed are.
    state_dims: where the rows lie in variables of the model's state, by name. Default: `dim`.
    max_rows: of a batch, and no more than an exported program takes (`Dim`). A request with more runs by itself.
    max_wait: seconds that a request waits for others when it could run. With 0 batches form of the requests that
    arrive while others run.
    max_waiting: requests; one more raises BusyError at once.
    max_running: batches that run at once. 0 takes the number of processors that the process may use.
    padding: names of arguments whose sizes in another dimension may differ, with (dimension, value): shorter ones are
    filled up. A mask is padded with 0.
    padded_result_dim: dimension of the results that is cut to the size a request had in the first entry of `padding`.
    equal_rows: the bits of a result do not depend on the requests beside it; batches are filled up to complete
    tiles of rows (12 with AVX2).
    tracing: each request has spans of OpenTelemetry: 'sr.request', and within it the time it waited and its batch. They
    belong to the caller's current span, and are recorded where that is. 'steps' adds a span for each step of the batch.

    >>> import torch, sr
    >>> module = sr.compile(torch.nn.Linear(3, 2).eval())
    >>> batcher = sr.Batcher(module, max_rows=32)
    >>> batcher(torch.zeros(1, 3), timeout=0.5).shape
    torch.Size([1, 2])
    >>> batcher.submit(torch.zeros(2, 3)).result().shape
    torch.Size([2, 2])
    """

    def __init__(self, module: StaticModule, *, dim: int | None = None, shared: Iterable[str] = (),
                 state_dims: Mapping[str, int] | None = None, max_rows: int = 64, max_wait: float = 0.0,
                 max_waiting: int = 1024, max_running: int = 0, padding: Mapping[str, tuple[int, float]] | None = None,
                 padded_result_dim: int | None = None, equal_rows: bool = False, tracing: bool | str = False) -> None:
        if not isinstance(module, StaticModule):
            raise ArgumentError(f'sr.Batcher was given a {type(module).__name__}; expected an sr.StaticModule.')
        names = [value.name for value in module.inputs]

        def position(name: str, option: str) -> int:
            if name not in names:
                raise ArgumentError(f'The option `{option}` names {name!r}, but the arguments of the module are '
                                    f'{", ".join(names)}.')
            return names.index(name)

        if tracing not in (False, True, 'steps'):
            raise ArgumentError(f"The option `tracing` is {str(tracing)[:80]!r}; expected False, True or 'steps'.")
        self._tracer = _tracing.tracer() if tracing else None
        self._traces_steps = tracing == 'steps'
        self._module = module
        self._batcher = _C.Batcher(
            module, dim=-1 if dim is None else dim, shared=[position(name, 'shared') for name in shared],
            state_dims=dict(state_dims or {}), max_rows=max_rows, max_wait=max_wait, max_waiting=max_waiting,
            max_running=max_running,
            padding=[(position(name, 'padding'), of_dim, float(value)) for name, (of_dim, value) in (padding or {}).items()],
            padded_result_dim=-1 if padded_result_dim is None else padded_result_dim, equal_rows=equal_rows)

    def __call__(self, *args: Any, session: Session | None = None, timeout: float | None = None, **kwargs: Any) -> Any:
        """The module's result for this request. `timeout`: seconds after which it no longer waits for a batch.

        session: the session that is called. If the model has state, each request must be a call of a session, which is
        reserved until the request is answered.

        Raises what the module raises, BusyError if `max_waiting` requests wait already or the session is in use, and
        CancelledError.
        """
        if self._tracer is None:
            return self._batcher.call(args, kwargs, session, timeout)
        return _tracing.traced(lambda trace: self._batcher.call(args, kwargs, session, timeout, trace), self._tracer,
                               steps=self._traces_steps)

    def submit(self, *args: Any, session: Session | None = None, timeout: float | None = None, **kwargs: Any) -> Future:
        """Returns at once; the future has the result. Raises ArgumentError, BusyError and StateError."""
        future = Future()
        future.set_running_or_notify_cancel()
        request = None if self._tracer is None else _tracing.Request(self._tracer, steps=self._traces_steps)

        def done(result: Any, error: BaseException | None) -> None:
            if request is not None:
                request.end(error)
            future._tell(result, error)

        try:
            future._call = self._batcher.start(args, kwargs, session, timeout, done,
                                               None if request is None else request.trace)
        except BaseException as error:
            if request is not None:
                request.end(error)
            raise
        return future

    @property
    def module(self) -> StaticModule:
        """The module that runs the batches."""
        return self._module

    def report(self) -> BatcherReport:
        """What the batcher has done so far."""
        return BatcherReport(**self._batcher.report())
