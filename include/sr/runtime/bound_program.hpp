// A program that is bound to the tensors of one call.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/base/versions.hpp>
#include <sr/module/bound_stamps.hpp>
#include <sr/replay/runner/replayer.hpp>

namespace sr::detail {

// The program must outlive this object, and nothing else may run it or change its sizes while it is bound.
// The tensors must outlive this object if holds() is called, which reads them. holds_for() reads only those
// that it gets.
class BoundProgram {
 public:
  using Arguments = c10::ArrayRef<c10::IValue>;
  using Outputs = c10::ArrayRef<at::Tensor>;

  bool is_bound() const { return program_ != nullptr; }
  void unbind() { program_ = nullptr; }
  // Returns null if it is not bound.
  replay::Program* program() const { return program_; }

  // Before this, the program's table of bases must hold the addresses of these arguments and outputs.
  // ProgramTable::find enters those of arguments, and Replayer::bind or run_into those of outputs.
  void bind(replay::Replayer& replayer, replay::Program& program, Arguments args, Outputs outputs) {
    frozen_ = replayer.freeze(program);
    tensors_.clear();
    for (const c10::IValue& value : args)
      each_tensor(value, [&](const at::Tensor& tensor) { tensors_.add(tensor); });
    for (const at::Tensor& tensor : outputs) tensors_.add(tensor);
    program_ = &program;
  }
  // True if nothing else than its steps has to be run.
  bool is_frozen() const { return !frozen_.steps.empty(); }

  // True if it is bound, and modes and tensors are as they were then.
  [[gnu::always_inline]] bool holds() const {
    return program_ != nullptr && program_->modes_hold() && tensors_.hold();
  }
  // True if, in addition, a call has the tensors that it is bound to.
  [[gnu::always_inline]] bool holds_for(Arguments args, Outputs outputs) const {
    return program_ != nullptr && tensors_.hold_for(args, outputs) && program_->modes_hold();
  }

  // Runs the program, and counts the writes to the outputs that it is bound to. Call it inside
  // Replayer::attempt, which handles its exceptions, and only after holds() or holds_for() has returned true.
  [[gnu::always_inline]] void run(replay::Replayer& replayer, Arguments args, Outputs outputs) {
    count_writes(outputs);
    replayer.run_bound(*program_, frozen_, std::span(args.data(), args.size()));
  }

 private:
  replay::Program* program_ = nullptr;
  replay::FrozenSteps frozen_;
  BoundStamps tensors_;
};

}  // namespace sr::detail
