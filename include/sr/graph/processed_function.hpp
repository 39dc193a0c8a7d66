// The only type erasure of the library: what a node calls, in two words.
#pragma once

namespace sr {

class NodeView;

// `op` points to the functor, or to whatever state `run` needs; it is const and shared by all threads, and
// must outlive every module prepared with it (functors are static, the fallback's state belongs to the
// module).
struct ProcessedFunction {
  void (*run)(const void* op, NodeView& node) = nullptr;
  const void* op = nullptr;

  void operator()(NodeView& node) const { run(op, node); }
  friend bool operator==(const ProcessedFunction&, const ProcessedFunction&) = default;
};
static_assert(sizeof(ProcessedFunction) == 2 * sizeof(void*));

}  // namespace sr
