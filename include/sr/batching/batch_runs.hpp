// Runs batches of requests: describes each request, joins those of a batch, calls the model, and divides what
// it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/call_options.hpp>
#include <sr/batching/batched_calls.hpp>
#include <sr/batching/options.hpp>
#include <sr/batching/request.hpp>

namespace sr::detail {

// Any number of threads may use one at once.
class BatchRuns {
 public:
  // Completes the options, see options_for; `graph` is the model's. `prepare` may be empty. Throws
  // ArgumentError for options that contradict the module or each other.
  BatchRuns(const torch::jit::Graph& graph, BatchedCalls calls, BatchModel model, BatchPreparation prepare,
            BatcherOptions options);

  const BatcherOptions& options() const { return options_; }

  // Binds and describes the arguments of a call, and reserves its state, which is null unless it is a call of
  // a session of a model with state. Throws ArgumentError, BusyError and StateError.
  void fill(Request& request, std::vector<c10::IValue> args, const KeywordArgs* kwargs,
            std::shared_ptr<SessionState> state) const;

  // Gives each request its result or its exception, and releases its state. If the joined call throws, the
  // requests run one by one, and it returns true. Of `options`, only `trace` may be set.
  bool run(const Batch& batch, const CallOptions& options);

 private:
  static constexpr std::size_t kMostPrepared = 4096;  // sizes
  static constexpr int kMostAgain = 2;

  struct Joined;

  bool run_joined(const Batch& batch, const CallOptions& options);
  void run_alone(Request& request, const CallOptions& options);
  void call(Joined& joined, const Batch& batch, const CallOptions& options);
  void call_with_state(Joined& joined, const Batch& batch, const CallOptions& options) const;
  void prepare(const Joined& joined, const Batch& batch, const std::vector<c10::IValue>& args);
  static void divide(Joined& joined, const Batch& batch);

  const BatchedCalls calls_;
  BatchModel model_;
  BatchPreparation prepare_;
  const BatcherOptions options_;
  const std::vector<std::int64_t> state_dims_;

  std::mutex mutex_;
  std::set<std::vector<std::int64_t>> prepared_;  // signatures with numbers of rows
};

}  // namespace sr::detail
