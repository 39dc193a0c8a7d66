// Definitions of <sr/batching/batch_runs.hpp>.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/build.hpp>
#include <sr/base/error.hpp>
#include <sr/batching/batch_runs.hpp>
#include <sr/batching/joining.hpp>
#include <sr/batching/most_rows.hpp>
#include <sr/batching/options_for.hpp>
#include <sr/batching/state_joining.hpp>
#include <sr/executor/arguments.hpp>

namespace sr::detail {

// Returns options with no more rows than the program takes. Throws ArgumentError.
inline BatcherOptions within_program(const torch::jit::Graph& graph, BatcherOptions options) {
  const std::int64_t most = most_rows(graph, options.dim), unit = options.equal_rows ? rows_together() : 1;
  if (most < unit) {
    throw ArgumentError("BatcherOptions::equal_rows fills batches up to " + std::to_string(unit) +
                        " rows, but the program takes no more than " + std::to_string(most) + ".");
  }
  if (most < options.max_rows) options.max_rows = most / unit * unit;
  return options;
}

// The call that answers a batch.
struct BatchRuns::Joined {
  Joined(const BatcherOptions& options, const Batch& batch) : rows(options, batch) {}

  BatchJoin rows;
  std::optional<StateJoin> of_state;  // empty if the model has no state
  SessionState state{StateValues()};
  c10::IValue result;
};

SR_INLINE BatchRuns::BatchRuns(const torch::jit::Graph& graph, BatchedCalls calls, BatchModel model,
                               BatchPreparation prepare, BatcherOptions options)
    : calls_(std::move(calls)),
      model_(std::move(model)),
      prepare_(std::move(prepare)),
      options_(within_program(graph, options_for(calls_.schema, std::move(options)))),
      state_dims_(dims_of_state(calls_.variables, options_.state_dims, options_.dim)) {}

SR_INLINE void BatchRuns::fill(Request& request, std::vector<c10::IValue> args, const KeywordArgs* kwargs,
                               std::shared_ptr<SessionState> state) const {
  if (calls_.has_state && state == nullptr) {
    throw ArgumentError(
        "The model keeps state between calls, so each request must be a call of a session. Make "
        "sessions with session(), and give one to each stream of requests.");
  }
  request.args = bind_arguments(calls_.schema, std::move(args), kwargs);
  request.state = std::move(state);
  if (request.state != nullptr) request.use.emplace(request.state.get());
  RequestSignature(options_, state_dims_, *calls_.row_counts, request).describe();
  request.joins &= calls_.may_join;
}

SR_INLINE bool BatchRuns::run(const Batch& batch, const CallOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::NoGradGuard no_grad;
  const bool was_joined = batch.size() > 1 && run_joined(batch, options);
  for (Request* const request : batch) {
    if (!was_joined) run_alone(*request, options);
    request->use.reset();
  }
  return batch.size() > 1 && !was_joined;
}

// Returns false if the call throws. It has changed copies of the states then, and nothing else.
SR_INLINE bool BatchRuns::run_joined(const Batch& batch, const CallOptions& options) {
  Joined joined(options_, batch);
  try {
    call(joined, batch, options);
  } catch (...) {
    return false;
  }
  try {
    divide(joined, batch);
  } catch (...) {
    for (Request* const request : batch) request->error = std::current_exception();
  }
  return true;
}

SR_INLINE void BatchRuns::run_alone(Request& request, const CallOptions& options) {
  try {
    if (!options_.equal_rows || !request.joins) {
      request.result = model_(request.state.get(), std::move(request.args), options);
      return;
    }
    const Batch batch{&request};
    Joined joined(options_, batch);
    call(joined, batch, options);
    divide(joined, batch);
  } catch (...) {
    request.error = std::current_exception();
  }
}

SR_INLINE void BatchRuns::call(Joined& joined, const Batch& batch, const CallOptions& options) {
  if (batch[0]->state != nullptr) return call_with_state(joined, batch, options);
  std::vector<c10::IValue> args = joined.rows.arguments();
  if (options_.equal_rows && prepare_) prepare(joined, batch, args);
  joined.result = model_(nullptr, std::move(args), options);
}

SR_INLINE void BatchRuns::call_with_state(Joined& joined, const Batch& batch,
                                          const CallOptions& options) const {
  joined.of_state.emplace(calls_, state_dims_, batch, joined.rows.filled_rows());
  CallTrace own;
  CallOptions traced = options;
  if (options_.equal_rows && traced.trace == nullptr) traced.trace = &own;
  const auto run = [&] {
    if (traced.trace != nullptr) traced.trace->steps.clear();
    joined.state.restore(joined.of_state->join());
    joined.result = model_(&joined.state, joined.rows.arguments(), traced);
    joined.of_state->check(joined.state.values());
  };
  run();
  if (joined.of_state->needs_comparison(joined.state.values())) {
    SessionState alone(batch[0]->state->values().copy());
    model_(&alone, batch[0]->args, {});
    if (joined.of_state->learn(joined.state.values(), alone.values())) run();
  }
  // The general path, which answers the first calls of a signature, may round otherwise than a replay.
  for (int again = 0; options_.equal_rows && again < kMostAgain; ++again) {
    if (traced.trace->path == CallTrace::Path::replay) return;
    run();
  }
}

// Records a plan before the first batch of its sizes, for the same reason.
SR_INLINE void BatchRuns::prepare(const Joined& joined, const Batch& batch,
                                  const std::vector<c10::IValue>& args) {
  std::vector<std::int64_t> sizes(batch[0]->signature.begin(), batch[0]->signature.end());
  sizes.insert(sizes.end(), {joined.rows.filled_rows(), joined.rows.length()});
  bool is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    is_new = prepared_.size() < kMostPrepared && prepared_.insert(std::move(sizes)).second;
  }
  if (is_new) prepare_(args);
}

SR_INLINE void BatchRuns::divide(Joined& joined, const Batch& batch) {
  std::vector<c10::IValue> results = joined.rows.divide(joined.result);
  if (joined.of_state) joined.of_state->divide(joined.state.values());
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->result = std::move(results[i]);
}

}  // namespace sr::detail
