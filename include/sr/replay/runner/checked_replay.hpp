// A replay that is compared with the interpreter, step by step.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/session_state.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/runner/check.hpp>
#include <sr/replay/runner/step_runner.hpp>
#include <sr/replay/trace/recorder.hpp>

namespace sr::replay {

// The module, the weights, the planner and the programs must outlive it.
struct CheckedReplay {
  const PreparedModule& content;
  const Entry& entry;
  const WeightSet& weights;
  const memory::PlannerOps& planner;
  ProgramTable& programs;

  // Throws CheckFailedError if a step leaves other bytes than the interpreter, and what operators throw.
  void run(Program& program, Context& context, std::span<const c10::IValue> args) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    ExecutionState state(content, weights, planner);
    const auto variables = args.subspan(entry.argument_count);
    std::vector<c10::IValue> others =
        StateValues({variables.begin(), variables.end()}).copy().take_variables();
    std::vector<c10::IValue> arguments;
    for (const c10::IValue& arg : args.first(args.size() - variables.size())) arguments.push_back(moved(arg));
    others.insert(others.begin(), arguments.begin(), arguments.end());
    // The interpreter must not write the caller's tensors, too.
    if (!program.written_arguments.empty() && !are_apart(args, others))
      return StepRunner(programs).run(program, context, /*call=*/nullptr);
    TraceRecorder recorder(content, entry, state.frame);
    recorder.keep_bytes();  // they are compared with the replay's
    const Trace trace = recorder.run(others);
    // Data have led a branch elsewhere, and the replay will notice.
    if (trace.storages.size() != program.notes->traced_storages)
      return StepRunner(programs).run(program, context, /*call=*/nullptr);
    const ProgramCheck check(program, trace, content.options.numerics);
    if (programs.is_shared()) check.poison_arena();
    StepRunner(programs).run(program, context, /*call=*/nullptr, [&](std::size_t step, const auto& run_step) {
      run_step();
      if (programs.is_shared()) check.after(step);
    });
  }

 private:
  // True if no tensor of `copies` has its storage in common with one of `args`.
  static bool are_apart(std::span<const c10::IValue> args, const std::vector<c10::IValue>& copies) {
    std::unordered_set<const c10::StorageImpl*> storages;
    bool are_apart = true;
    for (const c10::IValue& arg : args) {
      sr::detail::each_tensor(
          arg, [&](const at::Tensor& tensor) { storages.insert(sr::detail::storage_of(tensor)); });
    }
    for (const c10::IValue& copy : copies) {
      sr::detail::each_tensor(copy, [&](const at::Tensor& tensor) {
        are_apart &= storages.count(sr::detail::storage_of(tensor)) == 0;
      });
    }
    return are_apart;
  }
};

}  // namespace sr::replay
