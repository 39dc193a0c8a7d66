"""Spans of OpenTelemetry for requests: how long they waited, their batch, and the steps that ran.

Needs the package opentelemetry-api, and a provider of spans that the service sets up. Without them nothing is recorded.
"""

import time
from collections.abc import Callable
from typing import Any

from . import _C
from .errors import ArgumentError

INSTALL = 'Traces need the package opentelemetry-api: pip install opentelemetry-api opentelemetry-sdk.'


def tracer() -> Any:
    """The tracer 'sr' of the provider that the service has set up. Raises ArgumentError if the package is not there."""
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise ArgumentError(INSTALL) from error
    return trace.get_tracer('sr')


class Request:
    """The span 'sr.request' of one request, within the caller's current span.

    `trace` is what a call fills in. It is None if the span is not recorded: then a request costs nothing more.
    """

    def __init__(self, of: Any, *, steps: bool) -> None:
        self._tracer, self._span = of, of.start_span('sr.request')
        self.trace: _C.CallTrace | None = _C.CallTrace(steps) if self._span.is_recording() else None

    def end(self, error: BaseException | None = None) -> None:
        """Ends the span, and adds those of what happened to the request."""
        if self.trace is not None and error is not None:
            from opentelemetry.trace import Status, StatusCode

            self._span.record_exception(error)
            self._span.set_status(Status(StatusCode.ERROR, str(error)))
        if self.trace is not None and self.trace.ended:
            self._add_parts(self.trace)
        self._span.end()

    def _add_parts(self, trace: _C.CallTrace) -> None:
        from opentelemetry.trace import set_span_in_context

        # Times of the trace are those of the monotonic clock.
        offset = time.time_ns() - time.monotonic_ns()
        within = set_span_in_context(self._span)

        def add(name: str, begin: int, end: int, context: Any, attributes: dict[str, Any] | None = None) -> Any:
            span = self._tracer.start_span(name, context=context, start_time=begin + offset, attributes=attributes)
            span.end(end + offset)
            return span

        if trace.began > trace.arrived:
            add('sr.queue', trace.arrived, trace.began, within)
        batch = add('sr.batch', trace.began, trace.ended, within,
                    {'sr.requests': trace.requests, 'sr.rows': trace.rows, 'sr.path': trace.path})
        for name, begin, end in trace.steps:
            add(name, begin, end, set_span_in_context(batch))


def traced(call: Callable[[_C.CallTrace | None], Any], of: Any, *, steps: bool) -> Any:
    """The result of a call within the span of a request."""
    request = Request(of, steps=steps)
    try:
        result = call(request.trace)
    except BaseException as error:
        request.end(error)
        raise
    request.end()
    return result
