// A record of one call for distributed tracing: when it arrived, ran and ended, and which steps ran.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr {

// The caller owns it, and must keep it until the call has returned or its future is complete. For a request
// to a Batcher, the times, the path and the steps are those of the batch that answered it.
struct CallTrace {
  using Clock = std::chrono::steady_clock;

  // What answered the call: a replay, the interpreter while a plan was recorded, or the general path.
  enum class Path { unknown, replay, recording, general };

  struct Step {
    std::string name;  // "sr: packed gemm: aten::linear", or an operator that LibTorch ran
    Clock::time_point begin, end;
  };

  // Set by the caller: whether to record the steps, which costs some hundred nanoseconds for each.
  bool with_steps = false;

  Clock::time_point arrived, began, ended;
  std::size_t requests = 1;  // of the batch
  std::int64_t rows = 0;     // of the batch; 0 of a call without one
  Path path = Path::unknown;
  std::vector<Step> steps;  // the outermost ranges on the thread that ran the call
};

// Returns what traces and spans call the path: "replay", "recording", "general" or "unknown".
inline const char* name_of(CallTrace::Path path) {
  switch (path) {
    case CallTrace::Path::replay:
      return "replay";
    case CallTrace::Path::recording:
      return "recording";
    case CallTrace::Path::general:
      return "general";
    case CallTrace::Path::unknown:
      break;
  }
  return "unknown";
}

}  // namespace sr
