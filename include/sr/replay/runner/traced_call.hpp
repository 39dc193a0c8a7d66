// Fills a CallTrace while a call runs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <ATen/record_function.h>

#include <sr/base/call_trace.hpp>
#include <sr/replay/runner/replayer.hpp>

namespace sr::replay {

// Records the outermost ranges that this thread opens through at::RecordFunction. The callbacks of
// at::RecordFunction are plain functions, so they find the trace through a thread-local pointer.
class ObservedSteps {
 public:
  explicit ObservedSteps(CallTrace& trace) : outer_(current()) {
    current() = {&trace, 0};
    callback_ =
        at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                       .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
  }
  ObservedSteps(const ObservedSteps&) = delete;
  ObservedSteps& operator=(const ObservedSteps&) = delete;
  ~ObservedSteps() {
    at::removeCallback(callback_);
    current() = outer_;
  }

 private:
  struct Observed {
    CallTrace* trace = nullptr;
    int depth = 0;  // of the open ranges
  };
  struct Open final : at::ObserverContext {
    CallTrace::Clock::time_point begin = CallTrace::Clock::now();
  };

  static Observed& current() {
    thread_local Observed observed;
    return observed;
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
    return current().depth++ == 0 ? std::make_unique<Open>() : nullptr;
  }
  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    Observed& observed = current();
    --observed.depth;
    if (context == nullptr) return;
    observed.trace->steps.push_back(
        {function.name(), static_cast<Open&>(*context).begin, CallTrace::Clock::now()});
  }

  Observed outer_;
  at::CallbackHandle callback_;
};

// From its construction to its destruction, which comes also after an exception, a call runs.
class TracedCall {
 public:
  TracedCall(CallTrace& trace, Replayer& replayer)
      : trace_(trace),
        replayer_(replayer),
        replayed_(replayer.replayed_calls()),
        recorded_(replayer.recorded_programs()) {
    const CallTrace::Clock::time_point now = CallTrace::Clock::now();
    constexpr CallTrace::Clock::time_point kUnset;
    if (trace.arrived == kUnset) trace.arrived = now;
    if (trace.began == kUnset) trace.began = now;
    if (!trace.with_steps) return;
    named_before_ = replayer.name_steps(true);
    steps_.emplace(trace);
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
  ~TracedCall() {
    steps_.reset();
    if (trace_.with_steps) replayer_.name_steps(named_before_);
    trace_.ended = CallTrace::Clock::now();
    trace_.path = replayer_.replayed_calls() != replayed_      ? CallTrace::Path::replay
                  : replayer_.recorded_programs() != recorded_ ? CallTrace::Path::recording
                                                               : CallTrace::Path::general;
  }

 private:
  CallTrace& trace_;
  Replayer& replayer_;
  std::uint64_t replayed_, recorded_;
  bool named_before_ = false;
  std::optional<ObservedSteps> steps_;
};

}  // namespace sr::replay
