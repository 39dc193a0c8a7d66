"""What modules and batchers do, for Prometheus.

    import prometheus_client, sr.metrics

    prometheus_client.REGISTRY.register(sr.metrics.Collector({'ranking': module}))
    prometheus_client.start_http_server(9100)

A scrape reads counters that calls keep anyway; nothing is added to a call.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ._batcher import Batcher
from ._module import StaticModule

try:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
except ImportError:
    raise ImportError('sr.metrics needs the client of Prometheus: pip install prometheus-client') from None

# Upper ends of the buckets of latencies, in seconds: from 1 us to 69 s, each twice the one before.
_BOUNDS = tuple(1.024e-6 * 2**octave for octave in range(27))


class Collector:
    """Metrics of modules and batchers by name, which is their label `model`. Batchers bring those of their module.

    sr_calls_total by outcome (ok, error, cancelled, busy), sr_replayed_calls_total, sr_general_calls_total by reason,
    sr_call_seconds (a histogram), sr_runtimes and sr_runtimes_in_use; for batchers sr_batches_total, sr_batch_rows (a
    histogram), sr_batch_requests_total by outcome, sr_batch_waiting and sr_batch_waiting_seconds_total.
    """

    def __init__(self, models: Mapping[str, StaticModule | Batcher]) -> None:
        self._models = dict(models)

    def collect(self) -> Iterator[Any]:
        calls = CounterMetricFamily('sr_calls', 'Calls, by outcome', labels=['model', 'outcome'])
        replayed = CounterMetricFamily('sr_replayed_calls', 'Calls that a plan answered', labels=['model'])
        general = CounterMetricFamily('sr_general_calls', 'Calls that no plan answered, by reason',
                                      labels=['model', 'reason'])
        seconds = HistogramMetricFamily('sr_call_seconds', 'Time of calls that returned a result', labels=['model'])
        runtimes = GaugeMetricFamily('sr_runtimes', 'Runtimes that were made', labels=['model'])
        in_use = GaugeMetricFamily('sr_runtimes_in_use', 'Runtimes that calls use now', labels=['model'])
        for name, model in self._models.items():
            figures = (model.module if isinstance(model, Batcher) else model).metrics()
            ok = figures['calls'] - figures['failed']
            outcomes = {'ok': ok, 'error': figures['failed'] - figures['cancelled'],
                        'cancelled': figures['cancelled'], 'busy': figures['busy']}
            for outcome, count in outcomes.items():
                calls.add_metric([name, outcome], count)
            replayed.add_metric([name], figures['replayed'])
            for reason, count in figures['misses'].items():
                general.add_metric([name, reason], count)
            seconds.add_metric([name], _cumulative(figures['latency']), figures['latency']['seconds'])
            runtimes.add_metric([name], figures['runtimes'])
            in_use.add_metric([name], figures['runtimes_in_use'])
        yield from (calls, replayed, general, seconds, runtimes, in_use)
        yield from self._of_batchers()

    def _of_batchers(self) -> Iterator[Any]:
        requests = CounterMetricFamily('sr_batch_requests', 'Requests, by outcome', labels=['model', 'outcome'])
        batches = CounterMetricFamily('sr_batches', 'Batches that have run', labels=['model'])
        rows = HistogramMetricFamily('sr_batch_rows', 'Rows of a batch', labels=['model'])
        waited = CounterMetricFamily('sr_batch_waiting_seconds', 'Time that requests waited for their batch',
                                     labels=['model'])
        waiting = GaugeMetricFamily('sr_batch_waiting', 'Requests that wait now', labels=['model'])
        for name, batcher in self._models.items():
            if not isinstance(batcher, Batcher):
                continue
            report = batcher.report()
            outcomes = {'ok': report.requests - report.cancelled - report.failed, 'error': report.failed,
                        'cancelled': report.cancelled, 'busy': report.refused}
            for outcome, count in outcomes.items():
                requests.add_metric([name, outcome], count)
            batches.add_metric([name], report.batches)
            sizes, count = [], 0
            for most, more in sorted(report.batches_by_rows.items()):
                count += more
                sizes.append((str(float(most)), count))
            rows.add_metric([name], [*sizes, ('+Inf', count)], report.rows)
            waited.add_metric([name], report.waiting_seconds)
            waiting.add_metric([name], report.waiting)
        yield from (requests, batches, rows, waited, waiting)


def _cumulative(latency: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Prometheus counts in each bucket the calls of those before it, too."""
    found = sorted(latency['buckets'].items())
    buckets, count, next_one = [], 0, 0
    for bound in _BOUNDS:
        while next_one < len(found) and found[next_one][0] <= bound * (1 + 1e-9):
            count += found[next_one][1]
            next_one += 1
        buckets.append((f'{bound:.9g}', count))
    return [*buckets, ('+Inf', latency['count'])]
