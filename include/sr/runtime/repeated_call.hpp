// Calls with the same tensors again and again, as of a caller that keeps its buffers.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>

#include <sr/replay/runner/replayer.hpp>
#include <sr/runtime/bound_program.hpp>

namespace sr::detail {

// When several calls in a row pass the same tensors, this binds the program of the runtime to them. Later
// calls with these tensors compare no signature, and their steps have their addresses already. Any other call
// ends the binding. If that happens soon, making the binding cost more than it saved, so that twice as many
// calls in a row are needed before the next one is made.
class RepeatedCall {
 public:
  using Arguments = BoundProgram::Arguments;
  using Outputs = BoundProgram::Outputs;

  // True if the call can run the program that use() returns.
  [[gnu::always_inline]] bool holds_for(Arguments args, Outputs outputs) const {
    return bound_.holds_for(args, outputs);
  }
  [[gnu::always_inline]] BoundProgram& use() {
    ++uses_;
    return bound_;
  }

  // Must be called before the runtime does anything but run the program of use().
  void unbind() { bound_.unbind(); }

  // Notes a call that the program has answered.
  void note(replay::Replayer& replayer, replay::Program& program, Arguments args, Outputs outputs) {
    if (!is_as_before(args, outputs)) [[likely]] {
      calls_ = 1;
    } else if (++calls_ >= calls_to_bind_) {
      bind(replayer, program, args, outputs);
    }
  }

 private:
  static constexpr std::size_t kLeastCalls = 3, kManyUses = 64;

  // Returns whether the addresses of the TensorImpls are those of the call before. This is only a hint: a
  // tensor may have been freed and another one made at its address, which holds_for() notices. Returns false
  // if an argument is not a tensor.
  [[gnu::always_inline]] bool is_as_before(Arguments args, Outputs outputs) {
    std::size_t i = 0;
    bool same = tensors_.size() == args.size() + outputs.size();
    if (!same) tensors_.resize(args.size() + outputs.size());
    const auto compare = [&](const c10::TensorImpl* tensor) {
      same = same && tensors_[i] == tensor && tensor != nullptr;
      tensors_[i++] = tensor;
    };
    for (const c10::IValue& value : args) compare(value.isTensor() ? value.unsafeToTensorImpl() : nullptr);
    for (const at::Tensor& tensor : outputs) compare(tensor.unsafeGetTensorImpl());
    return same;
  }

  [[gnu::noinline]] void bind(replay::Replayer& replayer, replay::Program& program, Arguments args,
                              Outputs outputs) {
    calls_to_bind_ = uses_ >= kManyUses ? kLeastCalls : 2 * calls_to_bind_;
    calls_ = uses_ = 0;
    bound_.bind(replayer, program, args, outputs);
    if (!bound_.is_frozen()) bound_.unbind();
  }

  BoundProgram bound_;
  std::vector<const c10::TensorImpl*> tensors_;  // of the last call; only compared
  std::size_t calls_ = 0;                        // in turn that had these tensors, and were not bound
  std::size_t calls_to_bind_ = kLeastCalls;
  std::size_t uses_ = kManyUses;  // of the last binding
};

}  // namespace sr::detail
