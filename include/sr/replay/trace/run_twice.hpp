// Whether a call may be made a second time after it was recorded.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr::replay {

// True if calls write nothing but tensors of their own, draw no random numbers, and call no code of which
// nothing is known.
inline bool may_run_twice(const PreparedModule& module) {
  return module.written_inputs.empty() && module.state == nullptr &&
         !sr::detail::any_node(module.graph->block(),
                               [](const torch::jit::Node* node) { return !is_repeatable(*node); });
}

}  // namespace sr::replay
