// Traces a batch, and copies the trace to those of its requests that asked for one.
#pragma once

#include <sr/base/call_options.hpp>
#include <sr/base/call_trace.hpp>
#include <sr/batching/joining.hpp>

namespace sr::detail {

class BatchTrace {
 public:
  explicit BatchTrace(const Batch& batch) : batch_(batch) {
    for (const Request* const request : batch) {
      trace_.rows += request->rows;
      if (request->options.trace == nullptr) continue;
      options_.trace = &trace_;
      trace_.with_steps |= request->options.trace->with_steps;
    }
    trace_.requests = batch.size();
    if (options_.trace != nullptr) trace_.began = CallTrace::Clock::now();
  }
  BatchTrace(const BatchTrace&) = delete;
  BatchTrace& operator=(const BatchTrace&) = delete;

  const CallOptions& options() const { return options_; }

  // Must be called after the batch ran, and before its requests are completed.
  void give() {
    if (options_.trace == nullptr) return;
    trace_.ended = CallTrace::Clock::now();
    for (const Request* const request : batch_) {
      CallTrace* const to = request->options.trace;
      if (to == nullptr) continue;
      const bool with_steps = to->with_steps;
      *to = trace_;
      to->with_steps = with_steps;
      to->arrived = request->arrived;
      if (!with_steps) to->steps.clear();
    }
  }

 private:
  const Batch& batch_;
  CallTrace trace_;
  CallOptions options_;
};

}  // namespace sr::detail
