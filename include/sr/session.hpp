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
#include <sr/static_module.hpp>

namespace sr {

// Values of buffers and attributes by name, such as "layer.hidden".
using NamedState = std::map<std::string, c10::IValue>;

// For models that write buffers or assign attributes, such as a decoder with a cache or a recurrent network
// that keeps its hidden state. Any number of sessions share weights, plans and runtimes of one module, and
// each begins with the state that the module was made with. Made by StaticModule::session(). Shares ownership
// of the module.
//
// Sessions may be called at once from any threads, but one session answers one call at a time: a call during
// another one throws BusyError. The state shares no memory with arguments, results or weights. If a call
// throws, the state is as it was before; if keeping it would have copied more than 64 KiB a call, the session
// throws StateError until reset() or load().
class Session {
 public:
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

  // Sets the state to that of a new session.
  void reset() const;
  // Returns copies of all variables by name. The map is empty if the model has no state.
  NamedState state() const;
  // Copies the values into the session. Throws ArgumentError, and leaves the state as it was, for a name that
  // state() does not have, for a value of another type, for other sizes or another dtype of a tensor that the
  // model writes in place, and, if `strict`, for a name that is missing.
  void load(const NamedState& state, bool strict = true) const;
  // Returns the type of a variable, or null if the model has none of that name.
  c10::TypePtr type_of(const std::string& name) const;
  // Returns a new session with a copy of the current state.
  Session clone() const;

  const StaticModule& module() const { return module_; }
  const std::shared_ptr<SessionState>& session_state() const { return state_; }

 private:
  friend class StaticModule;
  Session(StaticModule module, std::shared_ptr<SessionState> state);

  StaticModule module_;
  std::shared_ptr<SessionState> state_;  // null for a model without state
};

}  // namespace sr
