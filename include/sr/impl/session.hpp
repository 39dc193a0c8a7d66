// Definitions of <sr/session.hpp>.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/impl/static_module.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/session_state.hpp>
#include <sr/module/weight_update.hpp>
#include <sr/session.hpp>

namespace sr {

namespace detail {

// Throws ArgumentError if the model has no variable of that name.
inline void require_variable(const std::vector<StateVariable>& variables, const std::string& name) {
  if (position_of(variables, name)) return;
  std::vector<std::string> names;
  for (const StateVariable& variable : variables) names.push_back(variable.source.name());
  throw ArgumentError("The state of the model has no '" + name + "'. It has " +
                          (names.empty() ? "nothing" : quoted(names, names.size())) + ".",
                      name);
}

// Returns the type that the module declares for a variable.
inline c10::TypePtr type_of_variable(const PreparedModule& module, std::size_t variable) {
  const auto inputs = module.graph->inputs();
  return inputs[inputs.size() - module.variables.size() + variable]->type();
}

// Throws ArgumentError if the variable cannot take the value.
inline void check_value(const PreparedModule& module, std::size_t i, const c10::IValue& now,
                        const c10::IValue& given) {
  const StateVariable& variable = module.variables[i];
  const c10::TypePtr type = type_of_variable(module, i);
  const auto refuse = [&](const std::string& why) {
    throw ArgumentError("The value given for '" + variable.source.name() + "' " + why,
                        variable.source.name());
  };
  if (!given.isTensor() || type->kind() != c10::TypeKind::TensorType) {
    if (!given.type()->isSubtypeOf(*type))
      refuse("is of type " + given.type()->repr_str() + ", expected " + type->repr_str() + ".");
  }
  each_tensor(given, [&](const at::Tensor& tensor) {
    if (!can_be_weight(tensor)) refuse("holds a tensor that is not a dense one on the CPU.");
  });
  // A variable that calls also assign may get other sizes.
  const bool is_assigned = std::ranges::find(module.assigned, i) != module.assigned.end();
  if (!variable.is_written || is_assigned || !given.isTensor() || !now.isTensor()) return;
  const at::Tensor &is = now.toTensor(), &made = given.toTensor();
  if (!made.defined() || made.sizes() != is.sizes() || made.scalar_type() != is.scalar_type())
    refuse("has other sizes or another dtype than the buffer, which the model writes in place: expected " +
           c10::str(is.scalar_type(), is.sizes()) + ".");
}

}  // namespace detail

SR_INLINE Session::Session(StaticModule module, std::shared_ptr<SessionState> state)
    : module_(std::move(module)), state_(std::move(state)) {}

SR_INLINE c10::IValue Session::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const {
  return module_.own_runtimes().call_on(state_.get(), std::move(args), &kwargs, nullptr);
}

SR_INLINE c10::IValue Session::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                          const CallOptions& options) const {
  return module_.own_runtimes().call_on(state_.get(), std::move(args), &kwargs, &options);
}

SR_INLINE void Session::run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) const {
  module_.own_runtimes().run_into_on(state_.get(), args, outputs);
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> Session::run_async(std::vector<c10::IValue> args,
                                                                     const KeywordArgs& kwargs,
                                                                     const CallOptions& options) const {
  return module_.own_runtimes().run_async_on(state_, std::move(args), kwargs, options);
}

SR_INLINE void Session::reset() const {
  if (state_ == nullptr) return;
  StateValues first = module_.content()->first_values.copy();
  const StateUse use(state_.get(), StateUse::Broken::allowed);
  state_->restore(std::move(first));
}

SR_INLINE NamedState Session::state() const {
  NamedState named;
  if (state_ == nullptr) return named;
  const StateUse use(state_.get());
  std::vector<c10::IValue> copies = state_->values().copy().take_variables();
  const std::vector<StateVariable>& variables = module_.content()->variables;
  for (std::size_t i = 0; i < variables.size(); ++i)
    named.emplace(variables[i].source.name(), std::move(copies[i]));
  return named;
}

SR_INLINE void Session::load(const NamedState& state, bool strict) const {
  const PreparedModule& module = *module_.content();
  for (const auto& [name, value] : state) detail::require_variable(module.variables, name);
  if (state_ == nullptr) return;
  const StateUse use(state_.get(), strict ? StateUse::Broken::allowed : StateUse::Broken::refused);
  std::vector<c10::IValue> values = state_->values().variables();
  for (std::size_t i = 0; i < module.variables.size(); ++i) {
    const std::string& name = module.variables[i].source.name();
    const auto given = state.find(name);
    if (given != state.end()) {
      detail::check_value(module, i, values[i], given->second);
      values[i] = given->second;
    } else if (strict) {
      throw ArgumentError("The state given has no '" + name + "'.", name);
    }
  }
  state_->restore(state_->values().with(std::move(values)).copy());
}

SR_INLINE c10::TypePtr Session::type_of(const std::string& name) const {
  const auto position = detail::position_of(module_.content()->variables, name);
  return position ? detail::type_of_variable(*module_.content(), *position) : nullptr;
}

SR_INLINE Session Session::clone() const {
  if (state_ == nullptr) return *this;
  const StateUse use(state_.get());
  return {module_, std::make_shared<SessionState>(state_->values().copy())};
}

SR_INLINE Session StaticModule::session() const {
  if (state_ == nullptr) return {*this, nullptr};
  return {*this, std::make_shared<SessionState>(content_->first_values.copy())};
}

}  // namespace sr
