// Runs a StaticModule, one call at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <sr/built_in.hpp>
#include <sr/call_options.hpp>
#include <sr/config.hpp>
#include <sr/fwd.hpp>
#include <sr/lent_values.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>

namespace sr {

// Belongs to one thread at a time and says so with BusyError. Shares ownership of the module, so the order of
// destruction does not matter; the tensors it returns are the caller's and may be kept for ever.
//
// Results equal the interpreter's in values, dtypes, sizes and aliasing, for any shapes on any run. After an
// exception, which keeps the type it was thrown with, nothing of the call is held and the next call works.
//
// libsr holds the runtimes of the planners and observers that come with sr. A file that runs one of its own
// includes <sr/definitions.hpp>.
template <memory::Planner Planner, class Observer>
class StaticRuntime {
 public:
  explicit StaticRuntime(const StaticModule& module) : StaticRuntime(module.content()) {}
  explicit StaticRuntime(std::shared_ptr<const ModuleContent> content) : state_(make(std::move(content))) {
    static_assert(detail::CanRun<Planner, Observer>,
                  "libsr has no runtime for this planner or observer: include <sr/definitions.hpp> in the file "
                  "that uses it");
  }

  // Positional and keyword arguments, bound as Python does. Throws ArgumentError, BusyError, and what
  // operators throw.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {});

  // A call that can be cancelled, or that forks onto a launcher of the caller's. Throws CancelledError too.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options);

  // Positional arguments without a vector: tensors, numbers, anything an IValue is made of. Variables of the
  // caller must stay as they are until the call returns.
  template <class... Args>
  requires(sizeof...(Args) > 0 && (std::is_constructible_v<c10::IValue, Args&&> && ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, std::vector<c10::IValue>> || ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, KeywordArgs> || ...)) c10::IValue
  operator()(Args&&... args) {
    const detail::LentValues<Args...> values(std::forward<Args>(args)...);
    return call_lent(values.span());
  }

  // Copies the results into tensors of the caller, one for each tensor of the result in depth-first order;
  // their dtypes and sizes must be those of the results. Throws ArgumentError when they are not.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs);
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions& options);

  // The parent graph runs inline on the caller and is complete on return, what it forks runs on the launcher.
  // Exceptions travel in the future.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    torch::jit::TaskLauncher launcher = at::launch);

  // With options.on_launcher the whole call is a task of the launcher. The runtime is in use until the future
  // is complete, and may be destroyed before.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                    const CallOptions& options);

  // Runs with these arguments and makes ready for them: plans memory, largest sizes first in a server's life,
  // and makes a plan for replay at once.
  void reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {});

  // Gives the arena and recycled outputs back to the system; sizes seen so far are forgotten.
  void trim();

  // A runtime of its own over the same module.
  StaticRuntime clone() const { return StaticRuntime(content()); }

  Report report() const;

  // Calls so far that a plan answered.
  std::uint64_t replayed_calls() const;

  // What a future of a call of it holds.
  c10::TypePtr result_type() const;

  Observer& observer();
  // The arena of a block, for tests and tools; <sr/memory/arena.hpp> says what it can do. Not to be used while
  // the runtime runs.
  const memory::Arena<Planner>& arena(std::size_t block = 0) const;
  // Calls visit(slab) for the memory of each plan; defined in <sr/definitions.hpp>.
  template <class Visit>
  void each_plan_slab(const Visit& visit) const;
  const std::shared_ptr<const ModuleContent>& content() const;

 private:
  using State = detail::RuntimeState<Planner, Observer>;

  static std::shared_ptr<State> make(std::shared_ptr<const ModuleContent> content);
  c10::IValue call_lent(std::span<const c10::IValue> args);

  std::shared_ptr<State> state_;  // with the calls that are on a launcher
};

// At most so many for the calls of a StaticModule, and for each forked body.
inline constexpr std::size_t kOwnRuntimes = 256;

}  // namespace sr

#ifdef SR_HEADER_ONLY
#include <sr/impl/static_runtime.hpp>
#else
namespace sr {

extern template class StaticRuntime<memory::StandardResizing>;
extern template class StaticRuntime<memory::LinearScan>;
extern template class StaticRuntime<memory::GreedyBySize>;
extern template class StaticRuntime<memory::NoReuse>;
extern template class StaticRuntime<memory::StandardResizing, TimingObserver>;
extern template class StaticRuntime<memory::LinearScan, TimingObserver>;
extern template class StaticRuntime<memory::GreedyBySize, TimingObserver>;
extern template class StaticRuntime<memory::NoReuse, TimingObserver>;

}  // namespace sr
#endif
