// Definitions of <sr/batching/batch_queue.hpp>: how a batch runs, and how its results are divided.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/build.hpp>
#include <sr/batching/batch_queue.hpp>
#include <sr/batching/joining.hpp>

namespace sr::detail {

// Returns whether the requests had to run one by one.
SR_INLINE bool BatchQueue::run(const Batch& batch, const CallOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::NoGradGuard no_grad;
  if (batch.size() == 1) {
    run_alone(*batch[0], options);
    return false;
  }
  c10::IValue result;
  const BatchJoin join(options_, batch);
  try {
    result = run_joined(join, batch, options);
  } catch (...) {
    for (Request* const request : batch) run_alone(*request, options);
    return true;
  }
  divide(join, batch, result);
  return false;
}

SR_INLINE void BatchQueue::run_alone(Request& request, const CallOptions& options) {
  try {
    if (!options_.equal_rows || !request.joins) {
      request.result = model_(std::move(request.args), options);
      return;
    }
    const Batch batch{&request};
    const BatchJoin join(options_, batch);
    divide(join, batch, run_joined(join, batch, options));
  } catch (...) {
    request.error = std::current_exception();
  }
}

SR_INLINE c10::IValue BatchQueue::run_joined(const BatchJoin& join, const Batch& batch,
                                             const CallOptions& options) {
  std::vector<c10::IValue> args = join.arguments();
  if (options_.equal_rows && prepare_) {
    // The general path, which answers the first calls of its sizes, may round otherwise than a replay.
    std::vector<std::int64_t> sizes = batch[0]->signature;
    sizes.insert(sizes.end(), {join.filled_rows(), join.length()});
    bool is_new = false;
    {
      const std::scoped_lock lock(mutex_);
      is_new = prepared_.size() < kMostPrepared && prepared_.insert(std::move(sizes)).second;
    }
    if (is_new) prepare_(args);
  }
  return model_(std::move(args), options);
}

SR_INLINE void BatchQueue::divide(const BatchJoin& join, const Batch& batch, const c10::IValue& result) {
  try {
    std::vector<c10::IValue> results = join.divide(result);
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->result = std::move(results[i]);
  } catch (...) {
    for (Request* const request : batch) request->error = std::current_exception();
  }
}

// Completes the future of a request that was submitted. Does not hold the lock, since that runs callbacks.
// The figures count the request already.
SR_INLINE void BatchQueue::complete(Request& request) {
  if (request.error) {
    request.future->setError(request.error);
  } else {
    request.future->markCompleted(std::move(request.result));
  }
}

}  // namespace sr::detail
