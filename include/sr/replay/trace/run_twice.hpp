// Decides whether a call can be recorded on copies of its arguments and then run on the arguments themselves.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr::replay {

// True if a call only writes tensors, and only changes lists and dictionaries, that it has made itself, draws
// no random numbers, and calls no unknown code.
inline bool may_run_twice(const PreparedModule& module) {
  return module.written_inputs.empty() && module.changed_inputs.empty() && !module.writes_state &&
         !sr::detail::any_node(module.graph->block(),
                               [](const torch::jit::Node* node) { return !is_repeatable(*node); });
}

}  // namespace sr::replay
