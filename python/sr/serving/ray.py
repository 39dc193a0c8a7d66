"""Ray Serve deployments whose replicas answer with sr."""

import asyncio
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .. import _load
from .._batcher import Batcher
from .._module import StaticModule
from .._options import Options, checked
from ..errors import ArgumentError

try:
    from ray import serve  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError('sr.serving.ray needs Ray Serve: pip install "ray[serve]"') from error

Model = str | os.PathLike[str] | Callable[[], StaticModule]
Request = Sequence[Any] | Mapping[str, Any]


class Replica:
    """What runs in each replica. Requests are tensors and numbers as a call of the module takes them."""

    def __init__(self, model: Model, options: Options, batching: dict[str, Any], warmup: Sequence[Request]) -> None:
        torch.set_num_threads(1)
        self._module = model() if callable(model) else _load_file(model, options)
        self._batcher = Batcher(self._module, **batching)
        self._warmup = list(warmup)
        self._weights: str | None = None
        for request in self._warmup:
            self._module.warmup(*_args(request), **_kwargs(request))

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of one request, which a batch with others may compute.

        Raises what `sr.Batcher` raises: BusyError when the replica's queue is full.
        """
        return await self._batcher.submit(*args, **kwargs)

    async def reconfigure(self, config: Mapping[str, Any] | None) -> None:
        """`user_config` of the deployment: {'weights': path} replaces the weights by those of a file of torch.save.

        The file holds a state_dict. Requests that run keep the old weights; no result has some of both.
        """
        weights = (config or {}).get('weights')
        if weights is not None and weights != self._weights:
            state = await asyncio.to_thread(torch.load, weights, map_location='cpu', weights_only=True)
            await asyncio.to_thread(self._module.update, state)
            self._weights = weights

    def check_health(self) -> None:
        """Called by Ray: a replica that cannot answer is replaced."""
        for request in self._warmup[:1]:
            self._module(*_args(request), **_kwargs(request))

    async def metrics(self) -> str:
        """The figures of the replica as Prometheus reads them; see sr.metrics."""
        from prometheus_client import CollectorRegistry, generate_latest  # which Ray brings

        from ..metrics import Collector

        registry = CollectorRegistry()
        registry.register(Collector({serve.get_replica_context().deployment: self._batcher}))
        return str(generate_latest(registry).decode())

    async def report(self) -> dict[str, Any]:
        """The figures of the replica's batcher, and its process."""
        return dataclasses.asdict(self._batcher.report()) | {'pid': os.getpid()}


def _load_file(path: str | os.PathLike[str], options: Options) -> StaticModule:
    maps = str(path).endswith('.pt2') and not options.get('updatable_weights', False)
    return _load.load(path, map_weights=maps, **options)


def _args(request: Request) -> tuple[Any, ...]:
    return () if isinstance(request, Mapping) else tuple(request)


def _kwargs(request: Request) -> dict[str, Any]:
    return dict(request) if isinstance(request, Mapping) else {}


def deployment(model: Model, *, name: str = 'sr', replicas: int | None = None,
               autoscaling: Mapping[str, Any] | None = None, batching: Mapping[str, Any] | None = None,
               warmup: Sequence[Request] = (), options: Options | None = None, max_ongoing_requests: int = 256,
               weights: str | None = None, **serve_options: Any) -> serve.Application:
    """An application for `serve.run`: replicas of a model, each on one processor, each with its own batches.

    model: path of a file of torch.export.save or torch.jit.save, which every node can read; or a function that makes
    the module in the replica. A `.pt2` is mapped: the replicas of a node share its weights.
    replicas: how many; or autoscaling: min_replicas, max_replicas and target_ongoing_requests, the length of a
    replica's queue beyond which Ray starts another.
    batching: keywords of `sr.Batcher`. max_ongoing_requests: that a replica is given at once, waiting ones included.
    warmup: requests whose sizes are recorded before the replica takes any; the first one is its health check.
    options: keywords of `sr.load`. weights: path of a state_dict, with options={'updatable_weights': True} or a
    function. `serve.run` with another path replaces replicas one by one; the `user_config` of a file for `serve
    deploy` changes weights without a restart.
    serve_options: others of `serve.deployment`, such as ray_actor_options and health_check_period_s.

    Raises ArgumentError for options there are not.

    >>> from ray import serve  # doctest: +SKIP
    >>> handle = serve.run(sr.serving.ray.deployment('ranking.pt2', replicas=4))  # doctest: +SKIP
    >>> scores = await handle.remote(torch.randn(1, 64))  # doctest: +SKIP
    """
    chosen = Options(**(options or {}))
    checked(dict(chosen))
    if replicas is not None and autoscaling is not None:
        raise ArgumentError('sr.serving.ray.deployment was given replicas and autoscaling; expected one of them.')
    if not callable(model):
        model = os.path.abspath(os.fspath(model))
        chosen.setdefault('intra_op_threads', 1)
    actor = {'num_cpus': 1} | dict(serve_options.pop('ray_actor_options', {}))
    amount: dict[str, Any] = {'num_replicas': 1 if replicas is None else replicas}
    if autoscaling is not None:
        amount = {'autoscaling_config': dict(autoscaling)}
    made = serve.deployment(
        Replica, name=name, max_ongoing_requests=max_ongoing_requests, ray_actor_options=actor,
        user_config={'weights': weights}, **amount, **serve_options)
    return made.bind(model, chosen, dict(batching or {}), list(warmup))
