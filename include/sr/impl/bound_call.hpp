// Definitions of <sr/bound_call.hpp>.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/bound_call.hpp>
#include <sr/runtime/bound_state.hpp>
#include <sr/runtime/impl/runtime_core.hpp>

namespace sr {

SR_INLINE void BoundCall::operator()() {
  state_->run();
}

SR_INLINE const std::vector<c10::IValue>& BoundCall::arguments() const {
  return state_->arguments();
}

SR_INLINE const std::vector<at::Tensor>& BoundCall::outputs() const {
  return state_->outputs();
}

SR_INLINE bool BoundCall::is_replayed() const {
  return state_->is_replayed();
}

SR_INLINE Report BoundCall::report() const {
  return state_->runtime().report();
}

SR_INLINE BoundCall::BoundCall(std::unique_ptr<detail::BoundState> state) : state_(std::move(state)) {}
SR_INLINE BoundCall::BoundCall(BoundCall&&) noexcept = default;
SR_INLINE BoundCall& BoundCall::operator=(BoundCall&&) noexcept = default;
SR_INLINE BoundCall::~BoundCall() = default;

namespace detail {

SR_INLINE BoundCall RuntimeCore::bind(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                      std::vector<at::Tensor> outputs) const {
  return BoundCall(std::make_unique<BoundState>(state_->content(), state_->state(), state_->planner(),
                                                std::move(args), kwargs, std::move(outputs)));
}

}  // namespace detail

}  // namespace sr
