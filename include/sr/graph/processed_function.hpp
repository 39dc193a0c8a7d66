// The function that a node calls, in two words: the type of its functor is erased here.
#pragma once

namespace sr {

class NodeView;

// `op` points to the functor, or to the state that `run` needs. It is const and shared by all threads, and
// must outlive every module prepared with it: functors are static, and the fallback's state belongs to the
// module.
struct ProcessedFunction {
  void (*run)(const void* op, NodeView& node) = nullptr;
  const void* op = nullptr;

  void operator()(NodeView& node) const { run(op, node); }
  friend bool operator==(const ProcessedFunction&, const ProcessedFunction&) = default;
};
static_assert(sizeof(ProcessedFunction) == 2 * sizeof(void*));

}  // namespace sr
