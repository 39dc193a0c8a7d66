// Definitions of <sr/session.hpp>.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/forked_tasks.hpp>
#include <sr/impl/static_module.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/session_state.hpp>
#include <sr/module/weight_update.hpp>
#include <sr/runtime/carried_state.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/session.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

namespace detail {

// Throws ArgumentError for a session that carries arguments, whose calls no batcher joins.
inline void require_joinable(const Session& session) {
  if (session.carried() == nullptr) return;
  throw ArgumentError(
      "The session carries arguments of the model, and a batcher takes no calls of such sessions. Call "
      "run_sessions.");
}

SR_INLINE void require_bindable(const Session& session) {
  if (session.carried() == nullptr) return;
  throw ArgumentError(
      "The session carries arguments of the model, and such a session cannot be bound to tensors. Bind the "
      "module, and pass the carried arguments.");
}

// Throws ArgumentError if the state has no variable of that name.
inline void require_variable(const std::vector<Session::Variable>& variables, const std::string& name) {
  if (std::ranges::find(variables, name, &Session::Variable::name) != variables.end()) return;
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const Session::Variable& variable : variables) names.push_back(variable.name);
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

SR_INLINE Session::Session(StaticModule module, std::shared_ptr<SessionState> state,
                           std::shared_ptr<const detail::CarriedState> carried)
    : module_(std::move(module)), state_(std::move(state)), carried_(std::move(carried)) {}

SR_INLINE Session Session::own(const StaticModule& module) {
  return {module, module.session_state()};
}

SR_INLINE const c10::FunctionSchema& Session::schema() const {
  return carried_ == nullptr ? module_.schema() : carried_->schema();
}

SR_INLINE c10::IValue Session::call(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                    const CallOptions* options) const {
  const RuntimePool<>& runtimes = module_.own_runtimes();
  if (carried_ == nullptr) return runtimes.call_on(state_.get(), std::move(args), &kwargs, options);
  args = bind_arguments(carried_->schema(), std::move(args), &kwargs);
  const auto run = [&](std::vector<c10::IValue> all) {
    return runtimes.call_on(nullptr, std::move(all), nullptr, options);
  };
  return carried_->call(*state_, std::move(args), /*holds_state=*/false, run);
}

SR_INLINE c10::IValue Session::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const {
  return call(std::move(args), kwargs, nullptr);
}

SR_INLINE c10::IValue Session::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                          const CallOptions& options) const {
  return call(std::move(args), kwargs, &options);
}

SR_INLINE void Session::run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) const {
  const RuntimePool<>& runtimes = module_.own_runtimes();
  if (carried_ == nullptr) return runtimes.run_into_on(state_.get(), args, outputs);
  const auto run = [&](std::vector<c10::IValue> all) {
    return runtimes.call_on(nullptr, std::move(all), nullptr, nullptr);
  };
  const auto copy = [&](const c10::IValue& result) { detail::copy_all_results(result, outputs); };
  carried_->call(*state_, bind_arguments(carried_->schema(), args.vec(), nullptr), /*holds_state=*/false, run,
                 copy);
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> Session::run_async(std::vector<c10::IValue> args,
                                                                     const KeywordArgs& kwargs,
                                                                     const CallOptions& options) const {
  const RuntimePool<>& runtimes = module_.own_runtimes();
  if (carried_ == nullptr) return runtimes.run_async_on(state_, std::move(args), kwargs, options);
  args = bind_arguments(carried_->schema(), std::move(args), &kwargs);
  std::shared_ptr<void> use = detail::hold_state(state_);
  const auto of_model =
      runtimes.run_async(carried_->complete(std::move(args), state_->values()), {}, options);
  auto future = c10::make_intrusive<c10::ivalue::Future>(carried_->schema().returns()[0].type());
  of_model->addCallback(
      [carried = carried_, state = state_, use = std::move(use), future](c10::ivalue::Future& ended) mutable {
        detail::complete(*future, [&] {
          const std::shared_ptr<void> used = std::move(use);  // released before the future is complete
          return carried->keep(ended.value(), *state);
        });
      });
  return future;
}

SR_INLINE BoundCall Session::bind(std::vector<c10::IValue> args, std::vector<at::Tensor> outputs,
                                  const KeywordArgs& kwargs) const {
  detail::require_bindable(*this);
  return StaticRuntime<>(module_.content(), state_).bind(std::move(args), std::move(outputs), kwargs);
}

SR_INLINE Session Session::method(const std::string& name) const {
  return {module_.method(name), state_};
}

SR_INLINE void Session::reset() const {
  if (state_ == nullptr) return;
  StateValues first =
      carried_ == nullptr ? module_.content()->first_values.copy_on_write() : carried_->first();
  const StateUse use(state_.get(), StateUse::Broken::allowed);
  state_->restore(std::move(first));
}

SR_INLINE NamedState Session::state() const {
  NamedState named;
  if (state_ == nullptr) return named;
  const StateUse use(state_.get());
  std::vector<c10::IValue> copies = state_->values().copy().take_variables();
  const std::vector<Variable> known = variables();
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (carried_ != nullptr && !carried_->has_value(i, copies[i])) continue;
    named.emplace(known[i].name, std::move(copies[i]));
  }
  return named;
}

SR_INLINE void Session::load(const NamedState& state, bool strict) const {
  const std::vector<Variable> known = variables();
  for (const auto& [name, value] : state) detail::require_variable(known, name);
  if (state_ == nullptr) return;
  const StateUse use(state_.get(), strict ? StateUse::Broken::allowed : StateUse::Broken::refused);
  std::vector<c10::IValue> values = state_->values().variables();
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto given = state.find(known[i].name);
    if (given != state.end()) {
      carried_ == nullptr ? detail::check_value(*module_.content(), i, values[i], given->second)
                          : carried_->check(i, given->second);
      values[i] = given->second;
    } else if (strict) {
      throw ArgumentError("The state given has no '" + known[i].name + "'.", known[i].name);
    }
  }
  state_->restore(state_->values().with(std::move(values)).copy());
}

SR_INLINE Session Session::clone() const {
  if (state_ == nullptr) return *this;
  const StateUse use(state_.get());
  return {module_, std::make_shared<SessionState>(state_->values().copy_on_write()), carried_};
}

SR_INLINE std::vector<Session::Variable> Session::variables() const {
  std::vector<Variable> all;
  const PreparedModule& module = *module_.content();
  if (carried_ == nullptr) {
    for (std::size_t i = 0; i < module.variables.size(); ++i)
      all.push_back({module.variables[i].source.name(), detail::type_of_variable(module, i)});
  } else {
    for (std::size_t i = 0; i < carried_->count(); ++i)
      all.push_back({carried_->argument(i).name(), carried_->argument(i).type()});
  }
  return all;
}

SR_INLINE Session StaticModule::session() const {
  if (state_ == nullptr) return {*this, nullptr};
  return {*this, std::make_shared<SessionState>(content_->first_values.copy_on_write())};
}

SR_INLINE Session StaticModule::session(const std::map<std::string, std::size_t>& carried) const {
  if (state_ != nullptr) {
    throw ArgumentError(
        "The model keeps state between calls itself (report() names what it writes), so a session "
        "cannot carry arguments.");
  }
  auto shared = std::make_shared<const detail::CarriedState>(content_->schema, carried);
  auto state = std::make_shared<SessionState>(shared->first());
  return {*this, std::move(state), std::move(shared)};
}

}  // namespace sr
