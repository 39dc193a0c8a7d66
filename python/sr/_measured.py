"""The part of a module that prepares calls and looks at them: warm-up, counts, times, plans."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _C
from ._profile import Profile, Timing, time_calls
from ._report import Metrics, Report
from .errors import ArgumentError


_log = logging.getLogger('sr')
_INTERPRETED = 'interpreted'  # the kind of such steps
_HOT = 0.2  # of a call's time
_TIMED_SECONDS = 0.05


class Measured(_C.Caller):
    """The part of StaticModule that prepares calls and looks at them."""

    __slots__ = ()

    IndividualMetrics = _C.IndividualMetrics  # where upstream has it, too
    _frontend: str

    def warmup(self, *args: Any, **kwargs: Any) -> None:
        """Calls with these arguments until further calls are replays, or it is clear that they will not be.

        For a service that starts: the first calls of a size record a plan, which takes milliseconds. The logger 'sr'
        warns if calls will not be replayed, and says why; and of operators that LibTorch's interpreter runs, if they take
        a fifth of a call or more. The calls advance the state of a model that has one.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> module.warmup(torch.zeros(4))
        >>> module.report()['replayed_calls'] > 0
        True
        """
        self._reserve(args, kwargs, 1)
        before = self._metrics()['replayed']
        for _ in range(2):
            self(*args, **kwargs)
        if self._metrics()['replayed'] == before:
            reasons = self.report()['bailouts']
            _log.warning('Calls of this module are not replayed: %s', reasons[0] if reasons else 'see its report().')
        elif any(plan['interpreted'] for plan in self.report()['plans']):
            self._warn_of_interpreted(args, kwargs)

    def metrics(self) -> Metrics:
        """What all calls of this module did so far: how many, replays, failures, latencies, runtimes.

        Costs calls nothing that can be measured: one of up to 64 short calls is timed, and stands for the others.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> for _ in range(100): _ = module(torch.zeros(4))
        >>> module.metrics()['calls']
        100
        """
        return Metrics(self._metrics())

    def profile(self, *args: Any, seconds: float = 1.0, **kwargs: Any) -> Profile:
        """Calls with these arguments for about `seconds` seconds, and times each step of the plans that answer.

        Uses its own runtime, so other callers are not disturbed. Raises the exceptions of a call.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).eval())
        >>> [program] = module.profile(torch.zeros(2, 8), seconds=0.1)['programs']
        >>> [step['ops'] for step in program['steps']]
        [['aten::linear'], ['aten::tanh']]
        """
        programs, page = self._profile(args, kwargs, seconds)
        timing = self.benchmark(args, kwargs, warmup_runs=10, main_runs=100)
        return Profile((), page, programs=programs, call_seconds=timing['median'])

    @contextlib.contextmanager
    def profiled(self) -> Iterator[None]:
        """Within, replays of this thread open a range in `torch.profiler` for each step: 'sr: fused: aten::mul, ...'.

        >>> import torch, sr
        >>> module = sr.compile(torch.nn.ReLU())
        >>> x = torch.zeros(4)
        >>> module.warmup(x)
        >>> with torch.profiler.profile() as profiler, module.profiled():
        ...     _ = module(x)
        >>> [event.key for event in profiler.key_averages()]
        ['sr: fused: aten::relu']
        """
        self._time_steps(True)
        try:
            yield
        finally:
            self._time_steps(False)

    def report(self) -> Report:
        """Which path each node takes and why, memory, plans and the pool, of the runtime used last."""
        return Report(*self._report('Report'), frontend=self._frontend)

    def benchmark(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, warmup_runs: int = 10,
                  main_runs: int = 1000) -> Timing:
        """Times calls with these arguments, one by one, from Python. `profile` says what happens within.

        >>> import torch, sr
        >>> timing = sr.compile(torch.nn.ReLU()).benchmark([torch.zeros(4)])
        >>> timing['median'] < timing['p99'] and timing['replayed'] > 990
        True
        """
        if main_runs < 1 or warmup_runs < 0:
            raise ArgumentError(f'benchmark was given {warmup_runs} warmup_runs and {main_runs} main_runs; expected at '
                                'least one timed run.')
        named = dict(kwargs or {})
        self.warmup(*args, **named)
        for _ in range(warmup_runs):
            self(*args, **named)
        return time_calls(lambda: self(*args, **named), main_runs, lambda: int(self._metrics()['replayed']))

    def benchmark_individual_ops(self, args: Sequence[Any], kwargs: Mapping[str, Any], warmup_runs: int,
                                 main_runs: int) -> _C.IndividualMetrics:
        """Times every node; milliseconds of one call, under the names of upstream's IndividualMetrics."""
        return self._benchmark_individual_ops(tuple(args), dict(kwargs), warmup_runs, main_runs)

    def _warn_of_interpreted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        programs, _ = self._profile(args, kwargs, _TIMED_SECONDS)
        for program in programs:
            if program['block']:
                continue  # its time is that of a step of a call
            for step in program['steps']:
                share = step['seconds'] / max(program['seconds'], 1e-12)
                if step['kind'] == _INTERPRETED and share >= _HOT:
                    _log.warning("%s takes %.0f %% of a call and is run by LibTorch's interpreter, since sr has no kernel "
                                 "for it with these arguments. The module's report() shows where it is.",
                                 ', '.join(step['ops']), 100 * share)


_C.share_vectorcall(Measured)
