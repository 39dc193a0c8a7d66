// Makes the spans of one request. They are the same as those of `sr.Batcher(tracing='steps')` in Python.
#pragma once

#include <chrono>
#include <string>

#include <sr/base/call_trace.hpp>

#include "../protocol/status.hpp"
#include "trace_context.hpp"

namespace sr::serve {

struct TracedRequest {
  TraceContext context;
  std::string model, version;
  CallTrace trace;  // filled in by the call, which the object must outlive
  CallTrace::Clock::time_point begin = CallTrace::Clock::now();

  // Returns JSON objects between commas: sr.request, which is a child of the context's span, and within it
  // sr.queue, sr.batch and the steps, as far as the request came. `failure` is null if it was answered.
  std::string spans(const Failure* failure) const;
};

}  // namespace sr::serve
