// Notes which variables and arguments the steps of a program write, and adds the copies of their new values.
#pragma once

#include <cstdint>
#include <set>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Finds the variables and arguments that steps write without storing the old bytes in the UndoLog. Call this
// before commit_variables.
inline void note_written_variables(Lowering& lowering, Program& program) {
  std::set<std::uint32_t> written;
  bool is_written = false;
  for (const Draft& draft : lowering.drafts()) {
    const bool keeps = draft.step.payload != nullptr && draft.step.payload->logs_writes();
    for (const StorageId storage : draft.writes) {
      if (!lowering.outlives_call(storage)) continue;
      is_written = true;
      if (!keeps) written.insert(lowering.storages()[storage].leaf);
    }
    program.may_end_behind_write |=
        is_written && draft.step.payload != nullptr && draft.step.payload->may_fail();
  }
  program.unlogged_leaves.assign(written.begin(), written.end());
  const std::set<std::uint32_t>& arguments = lowering.trace().written_arguments;
  program.written_arguments.assign(arguments.begin(), arguments.end());
  program.changes_arguments = !arguments.empty() || !lowering.trace().changed_containers.empty();
}

// Adds copies of the new values to variables and arguments that are written whole. They are the last steps,
// which cannot fail.
inline void commit_variables(const Trace& trace, Lowering& lowering, Program& program) {
  for (const Commit& commit : trace.commits) {
    const Operand from = lowering.operand(commit.from), to = lowering.operand(commit.to);
    if (!lower::emit_copies(lowering, {{from, to}}, /*is_last=*/true))
      program.bailout = "A variable or an argument that is written could not be copied.";
  }
}

}  // namespace sr::replay
