// Session: one stream of calls of a model that keeps state between calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type_base.h>

#include <sr/base/call_options.hpp>
#include <sr/base/config.hpp>
#include <sr/bound_call.hpp>
#include <sr/static_module.hpp>

namespace sr {

namespace detail {

class CarriedState;

}  // namespace detail

// Values of buffers, attributes and carried arguments by name, such as "layer.hidden".
using NamedState = std::map<std::string, c10::IValue>;

// For models that write buffers or assign attributes, such as a decoder with a cache or a recurrent network
// that keeps its hidden state. Any number of sessions share weights, plans and runtimes of one module, and
// each begins with the state that the module was made with. Made by StaticModule::session(). Shares ownership
// of the module.
//
// Also for models that take their state as arguments and return it: session(carried) names the arguments that
// a session carries from call to call. Its calls give only the other arguments, and return only the other
// results. A carried argument begins with its default; one without a default has no value until load(), and
// calls throw ArgumentError.
//
// Sessions may be called at once from any threads, but one session answers one call at a time: a call during
// another one throws BusyError. The state shares no memory with arguments, results or weights. If a call
// throws, the state is as it was before; if keeping it would have copied more than 64 KiB a call, the session
// throws StateError until reset() or load().
class Session {
 public:
  // Returns a session that uses the state of the module's own calls.
  static Session own(const StaticModule& module);

  // The arguments and results of a call.
  const c10::FunctionSchema& schema() const;

  // These functions do what the functions of StaticModule with the same names do, on the state of the
  // session. They also throw StateError.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) const;
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options) const;
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) const;
  // Reserves the session until the future completes. Throws BusyError immediately if the session is in use.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    const CallOptions& options = {}) const;
  // Does what StaticRuntime::bind does: each call of the returned object reads these tensors, advances the
  // session, and writes the results into `outputs`, or into tensors that are made if there are none. Binding
  // leaves the state as it is. Throws ArgumentError for a session that carries arguments, whose state is not
  // in the same tensors in each call.
  BoundCall bind(std::vector<c10::IValue> args, std::vector<at::Tensor> outputs = {},
                 const KeywordArgs& kwargs = {}) const;

  // Returns the session as one whose calls run another method of the module, on the same state. See
  // StaticModule::method.
  Session method(const std::string& name) const;

  // Sets the state to that of a new session.
  void reset() const;
  // Returns copies of all variables by name. The map is empty if the model has no state.
  NamedState state() const;
  // Copies the values into the session. Throws ArgumentError, and leaves the state as it was, for a name that
  // state() does not have, for a value of another type, for other sizes or another dtype of a tensor that the
  // model writes in place, and, if `strict`, for a name that is missing.
  void load(const NamedState& state, bool strict = true) const;
  struct Variable {
    std::string name;
    c10::TypePtr type;
  };
  // Returns the names and types of all variables.
  std::vector<Variable> variables() const;
  // Returns a new session with a copy of the current state.
  Session clone() const;

  const StaticModule& module() const { return module_; }
  const std::shared_ptr<SessionState>& session_state() const { return state_; }
  // Returns null if the session carries no arguments.
  const std::shared_ptr<const detail::CarriedState>& carried() const { return carried_; }

 private:
  friend class StaticModule;
  Session(StaticModule module, std::shared_ptr<SessionState> state,
          std::shared_ptr<const detail::CarriedState> carried = nullptr);

  c10::IValue call(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                   const CallOptions* options) const;

  StaticModule module_;
  std::shared_ptr<SessionState> state_;  // null for a model without state
  std::shared_ptr<const detail::CarriedState> carried_;
};

namespace detail {

// Throws ArgumentError for a session that carries arguments.
void require_bindable(const Session& session);

}  // namespace detail

}  // namespace sr
