// Definitions of <sr/batcher.hpp>.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/batcher.hpp>
#include <sr/batching/batch_queue.hpp>
#include <sr/batching/impl/batch_queue.hpp>
#include <sr/batching/impl/batch_runs.hpp>
#include <sr/runtime_pool.hpp>

namespace sr {

namespace detail {

inline std::shared_ptr<BatchQueue> make_queue(const StaticModule& module, const BatcherOptions& options) {
  RuntimePoolOptions of_pool;
  of_pool.intra_op_threads = options.intra_op_threads;
  const auto pool = std::make_shared<RuntimePool<>>(module, of_pool);
  return std::make_shared<BatchQueue>(
      module.content(),
      [pool](std::vector<c10::IValue> args, const CallOptions& given) {
        return given.trace == nullptr ? (*pool)(std::move(args)) : (*pool)(std::move(args), {}, given);
      },
      [pool](const std::vector<c10::IValue>& args) { pool->reserve(args); }, options);
}

}  // namespace detail

SR_INLINE Batcher::Batcher(const StaticModule& module, const BatcherOptions& options)
    : queue_(detail::make_queue(module, options)) {}
SR_INLINE Batcher::Batcher(const StaticModule& module, BatchModel model, const BatcherOptions& options,
                           BatchPreparation prepare)
    : queue_(std::make_shared<detail::BatchQueue>(module.content(), std::move(model), std::move(prepare),
                                                  options)) {}
SR_INLINE Batcher::Batcher(Batcher&&) noexcept = default;
SR_INLINE Batcher& Batcher::operator=(Batcher&& other) noexcept {
  std::swap(queue_, other.queue_);
  return *this;
}
SR_INLINE Batcher::~Batcher() {
  if (queue_ != nullptr) queue_->close();
}

SR_INLINE c10::IValue Batcher::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                          const CallOptions& options) const {
  return queue_->call(std::move(args), kwargs, options);
}
SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> Batcher::submit(std::vector<c10::IValue> args,
                                                                  const KeywordArgs& kwargs,
                                                                  const CallOptions& options) const {
  return queue_->submit(std::move(args), kwargs, options);
}
SR_INLINE BatcherReport Batcher::report() const {
  return queue_->report();
}

}  // namespace sr
