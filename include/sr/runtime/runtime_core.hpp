// The border between the templates that a user names and the runtime, which is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/graph/observer.hpp>
#include <sr/graph/report.hpp>
#include <sr/memory/planner_ops.hpp>

namespace sr {

class BoundCall;
class SessionState;
class WeightSet;
struct PreparedModule;

// The largest number of runtimes for the calls of a StaticModule, and for each forked body.
inline constexpr std::size_t kOwnRuntimes = 256;

}  // namespace sr

namespace sr::memory {

class Arena;

}  // namespace sr::memory

namespace sr::detail {

class CallCounters;
class RuntimeState;

// Reserves the state for the holder of the result, which is null if `state` is. Throws BusyError and
// StateError.
std::shared_ptr<void> hold_state(const std::shared_ptr<SessionState>& state);

// The implementation of StaticRuntime for all planners and observers; its functions are described there.
// Copies share one state, which calls on a launcher keep alive.
class RuntimeCore {
 public:
  // `state` is used by calls that bring no state. It is null if the module has no state. `observed` owns the
  // object of the hooks and may be null.
  RuntimeCore(std::shared_ptr<const PreparedModule> content, std::shared_ptr<SessionState> state,
              const memory::PlannerOps& planner, const ObserverHooks& hooks = {},
              std::shared_ptr<void> observed = nullptr);

  // Moves from the arguments. `kwargs` and `options` may be null; `state` is null for the runtime's own.
  c10::IValue call(std::span<c10::IValue> args, const KeywordArgs* kwargs, const CallOptions* options,
                   SessionState* state = nullptr, bool holds_state = false) const;
  // Calls a forked body with the weights of the call that forks it.
  c10::IValue call_with(std::shared_ptr<const WeightSet> weights, std::span<c10::IValue> args,
                        const CallOptions& options) const;
  // Leaves the arguments to the caller.
  c10::IValue call_borrowed(std::span<const c10::IValue> args) const;
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* options) const;
  // `state` is null for the runtime's own.
  void run_into_on(SessionState* state, c10::ArrayRef<c10::IValue> args,
                   c10::ArrayRef<at::Tensor> outputs) const;
  BoundCall bind(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                 std::vector<at::Tensor> outputs) const;
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                    const CallOptions& options) const;
  void reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const;
  void trim() const;
  void time_steps(bool on) const;
  Report report() const;
  std::uint64_t replayed_calls() const;
  std::shared_ptr<const CallCounters> counters() const;
  c10::TypePtr result_type() const;
  const memory::Arena& arena(std::size_t block) const;
  void each_plan_buffer(void (*visit)(void* with, const memory::AnyBuffer& buffer), void* with) const;
  const std::shared_ptr<const PreparedModule>& content() const;
  const std::shared_ptr<SessionState>& state() const;

 private:
  std::shared_ptr<RuntimeState> state_;
};

}  // namespace sr::detail
