// What a caller can choose for one call.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include <ATen/core/ivalue.h>

#include <sr/base/call_trace.hpp>
#include <sr/base/error.hpp>

namespace sr {

// Arguments by name.
using KeywordArgs = std::unordered_map<std::string, c10::IValue>;

// Runs a task, now or later, on a thread of its choice; torch::jit::TaskLauncher is the same type.
using TaskLauncher = std::function<void(std::function<void()>)>;

// A call looks for cancellation before each step of a program, each node of the general path and each step of
// a forked body. It does not interrupt an operator that runs. A cancelled call throws CancelledError and
// leaves the runtime ready for the next call, as any exception does.
struct CallOptions {
  using Clock = std::chrono::steady_clock;

  std::stop_token stop = {};
  Clock::time_point deadline = Clock::time_point::max();
  TaskLauncher launcher = {};  // what forked bodies run on; empty: LibTorch's inter-op threads
  bool on_launcher = false;    // run_async: the whole call runs there, not on the caller
  CallTrace* trace = nullptr;  // filled in during the call; null disables tracing

  bool can_be_cancelled() const { return stop.stop_possible() || deadline != Clock::time_point::max(); }

  // Throws CancelledError.
  void check() const {
    if (stop.stop_requested()) throw CancelledError("The call was cancelled by its stop token.");
    if (deadline != Clock::time_point::max() && Clock::now() >= deadline) {
      throw CancelledError("The call was cancelled: its deadline has passed.");
    }
  }
};

}  // namespace sr
