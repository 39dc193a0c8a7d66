// What happened to a call, for those who trace requests through a service.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr {

// Belongs to the caller, who must keep it until the call has returned, or its future is complete. Of a
// request to a Batcher, the call is that of its batch.
struct CallTrace {
  using Clock = std::chrono::steady_clock;

  // What answered: a replay; the interpreter, while a plan was recorded; the general path.
  enum class Path { unknown, replay, recording, general };

  struct Step {
    std::string name;  // "sr: packed gemm: aten::linear", or an operator that LibTorch ran
    Clock::time_point begin, end;
  };

  bool with_steps =
      false;  // chosen by the caller: note the steps, which costs some hundred nanoseconds for each

  Clock::time_point arrived, began, ended;
  std::size_t requests = 1;  // of the batch
  std::int64_t rows = 0;     // of the batch; 0 of a call without one
  Path path = Path::unknown;
  std::vector<Step> steps;  // those of the calling thread, without what runs within them
};

}  // namespace sr
