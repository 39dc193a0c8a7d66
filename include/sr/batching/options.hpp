// How a Batcher joins requests, and what it tells of them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>

#include <sr/base/call_options.hpp>

namespace sr {

class SessionState;

// Runs a batch. `args` are complete positional arguments; of `options` only `trace` may be set. `state` is
// the state of the call, which is reserved for it, or null if the requests are not of sessions. Several
// threads call it at once.
using BatchModel = std::function<c10::IValue(SessionState* state, std::vector<c10::IValue> args,
                                             const CallOptions& options)>;
// Makes the model ready for calls with such arguments, so that the next one is a replay. Called with
// BatcherOptions::equal_rows before the first batch of its sizes; may be empty.
using BatchPreparation = std::function<void(const std::vector<c10::IValue>& args)>;

// An argument whose sizes in `dim` may differ between the requests of a batch: shorter ones are filled up at
// the end. A mask among the arguments is padded with zeros.
struct Padding {
  std::size_t argument = 0;  // its position in the schema
  std::int64_t dim = 1;
  c10::Scalar value = 0;
};

struct BatcherOptions {
  // Requests are joined along this dimension of every tensor of the arguments, and every tensor of the result
  // is divided along it. A request may have several rows, or none. -1: the first dimension whose size an
  // exported program leaves open (`Dim`) in all arguments that have such dimensions, else 0.
  std::int64_t dim = -1;
  // Positions of arguments without rows: the same tensor in all requests. Arguments of an exported program
  // all of whose sizes are fixed are shared without being named.
  std::vector<std::size_t> shared;
  // The dimension of the rows in variables of the model's state, by name. Other variables have them in `dim`.
  std::map<std::string, std::int64_t> state_dims;
  // Rows of a batch. An exported program may limit them further (`Dim`). A request with more rows runs by
  // itself.
  std::int64_t max_rows = 64;
  // How long a request waits for others when it could run. With 0 it waits only while `max_running` batches
  // run, and batches form of the requests that arrive meanwhile.
  std::chrono::microseconds max_wait{0};
  std::size_t max_waiting = 1024;  // requests; one more is refused with BusyError
  std::size_t max_running = 0;     // batches at once; 0: as many as the process may use processors
  int intra_op_threads = 1;        // of a batch; see RuntimePoolOptions
  std::vector<Padding> padding;
  // Where results have the size of the longest request of a batch: their dimension, which is cut to the size
  // that the request had in the first entry of `padding`. -1: there is none.
  std::int64_t padded_result_dim = -1;
  // The bits of a request's results do not depend on the requests beside it, nor on their number: batches are
  // filled up to complete tiles of rows (12 with AVX2), and a plan is recorded before the first one of its
  // sizes. Holds for models whose steps are kernels of sr (Report::plans).
  bool equal_rows = false;
};

struct BatcherReport {
  std::uint64_t requests = 0;   // accepted
  std::uint64_t refused = 0;    // with BusyError
  std::uint64_t cancelled = 0;  // while they waited
  std::uint64_t failed = 0;     // with an exception of the model
  std::uint64_t batches = 0, rows = 0;
  std::uint64_t divided = 0;             // batches that threw, whose requests then ran one by one
  double waiting_seconds = 0;            // of all requests, until their batch began
  std::size_t waiting = 0, running = 0;  // requests, and batches, now
  std::array<std::uint64_t, 16>
      batches_by_rows{};  // of at most 1, 2, 4, ... 32,768 rows; the last: all others
};

}  // namespace sr
