// What the steps of a program write of a model's state.
#pragma once

#include <cstdint>
#include <set>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Variables that steps write without telling the UndoLog. Must be called before variables are committed.
inline void note_written_variables(Lowering& lowering, Program& program) {
  std::set<std::uint32_t> written;
  bool is_written = false;
  for (const Draft& draft : lowering.drafts()) {
    const bool keeps = draft.step.payload != nullptr && draft.step.payload->keeps_variables();
    for (const StorageId storage : draft.writes) {
      if (!lowering.is_variable(storage)) continue;
      is_written = true;
      if (!keeps) written.insert(lowering.storages()[storage].leaf);
    }
    program.may_end_behind_write |=
        is_written && draft.step.payload != nullptr && draft.step.payload->may_fail();
  }
  program.written_leaves.assign(written.begin(), written.end());
}

// Copies the new values of variables that are written whole, when nothing can fail any more.
inline void commit_variables(const Trace& trace, Lowering& lowering, Program& program) {
  for (const Commit& commit : trace.commits) {
    const Operand from = lowering.operand(commit.from), to = lowering.operand(commit.to);
    if (!lower::emit_copies(lowering, {{from, to}}, /*is_last=*/true))
      program.bailout = "A variable that is written could not be copied.";
  }
}

}  // namespace sr::replay
