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
#include <sr/impl/session.hpp>
#include <sr/runtime_pool.hpp>

namespace sr {

namespace detail {

inline std::shared_ptr<BatchQueue> make_queue(const StaticModule& module, const BatcherOptions& options) {
  RuntimePoolOptions of_pool;
  of_pool.intra_op_threads = options.intra_op_threads;
  const auto pool = std::make_shared<RuntimePool<>>(module, of_pool);
  return std::make_shared<BatchQueue>(
      *module.content(),
      [pool](SessionState* state, std::vector<c10::IValue> args, const CallOptions& given) {
        return pool->call_joined(state, std::move(args), given);
      },
      [pool](const std::vector<c10::IValue>& args) { pool->reserve(args); }, options);
}

}  // namespace detail

SR_INLINE Batcher::Batcher(const StaticModule& module, const BatcherOptions& options)
    : content_(module.content()), queue_(detail::make_queue(module, options)) {}
SR_INLINE Batcher::Batcher(const StaticModule& module, BatchModel model, const BatcherOptions& options,
                           BatchPreparation prepare)
    : content_(module.content()),
      queue_(std::make_shared<detail::BatchQueue>(*content_, std::move(model), std::move(prepare), options)) {
}
SR_INLINE Batcher::Batcher(Batcher&&) noexcept = default;
SR_INLINE Batcher& Batcher::operator=(Batcher&& other) noexcept {
  std::swap(content_, other.content_);
  std::swap(queue_, other.queue_);
  return *this;
}
SR_INLINE Batcher::~Batcher() {
  if (queue_ != nullptr) queue_->close();
}

SR_INLINE c10::IValue Batcher::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                          const CallOptions& options) const {
  return queue_->call(nullptr, std::move(args), kwargs, options);
}
SR_INLINE c10::IValue Batcher::operator()(const Session& session, std::vector<c10::IValue> args,
                                          const KeywordArgs& kwargs, const CallOptions& options) const {
  return queue_->call(state_of(session), std::move(args), kwargs, options);
}
SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> Batcher::submit(std::vector<c10::IValue> args,
                                                                  const KeywordArgs& kwargs,
                                                                  const CallOptions& options) const {
  return queue_->submit(nullptr, std::move(args), kwargs, options);
}
SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> Batcher::submit(const Session& session,
                                                                  std::vector<c10::IValue> args,
                                                                  const KeywordArgs& kwargs,
                                                                  const CallOptions& options) const {
  return queue_->submit(state_of(session), std::move(args), kwargs, options);
}
SR_INLINE std::shared_ptr<SessionState> Batcher::state_of(const Session& session) const {
  if (session.module().content() != content_)
    throw ArgumentError("The session is one of another module than the batcher's.");
  detail::require_joinable(session);
  return session.session_state();
}
SR_INLINE BatcherReport Batcher::report() const {
  return queue_->report();
}

}  // namespace sr
