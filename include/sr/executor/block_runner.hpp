// Runs the nodes of one block of a module: the run loop of the general path.
#pragma once

#include <cstdint>
#include <utility>

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <sr/base/call_options.hpp>
#include <sr/base/last_holder.hpp>
#include <sr/executor/arena.hpp>
#include <sr/graph/block_info.hpp>
#include <sr/graph/observer.hpp>
#include <sr/registry/boxed_op.hpp>
#include <sr/registry/selection.hpp>

namespace sr {

// Belongs to one runtime. The runtime's frame and observer and the module's BlockInfo must outlive it.
class BlockRunner {
 public:
  BlockRunner(const BlockInfo& info, std::uint32_t index, Frame& frame, const ObserverHooks& observer,
              const memory::PlannerOps& planner, bool optimize)
      : info_(&info),
        index_(index),
        frame_(&frame),
        observer_(&observer),
        arena_(info, frame, planner, optimize) {}

  // The inputs must be in their slots; on return the outputs are in theirs, until `finish`. Throws what the
  // nodes throw, or CancelledError, after it has released everything that the block held. The place of the
  // node is added to a c10::Error.
  void run() {
    std::size_t step = 0;
    try {
      observer_->begin(Phase::allocate);
      arena_.prepare();
      if (arena_.has_own_buffer()) arena_.buffer().begin_run();
      observer_->end(Phase::allocate);
      for (; step < info_->nodes.size(); ++step) {
        if (frame_->call != nullptr) frame_->call->check();
        run_node(step);
      }
    } catch (c10::Error& error) {
      abandon();
      if (step < info_->nodes.size()) detail::add_place(error, *info_->nodes[step].node);
      throw;
    } catch (...) {
      abandon();
      throw;
    }
  }

  // Does what `run` does by other means. Returns false, having changed nothing, if there are none.
  bool run_by(BlockCalls& blocks) {
    try {
      runs_elsewhere_ = blocks.run(*frame_, index_);
      return runs_elsewhere_;
    } catch (...) {
      clear();
      throw;
    }
  }

  // Takes an output of the block; once after each run.
  c10::IValue take_output(std::size_t i) {
    const BlockOutput& output = info_->outputs[i];
    c10::IValue& value = frame_->values[output.slot];
    return output.moves ? std::move(value) : value;
  }

  // Releases what the run left in the slots, including outputs that were not taken.
  void finish() noexcept {
    if (std::exchange(runs_elsewhere_, false)) return clear();
    if (arena_.has_own_buffer()) arena_.buffer().end_run();
    for (const Slot slot : info_->cleared) frame_->values[slot] = c10::IValue();
    arena_.finish();
  }

  // Keeps the recyclable outputs that have no other holder, and drops the others.
  void recycle_outputs() noexcept {
    for (const Slot slot : info_->recycled) {
      c10::IValue& value = frame_->values[slot];
      if (value.isTensor() && value.use_count() == 1 && value.toTensor().has_storage() &&
          value.toTensor().storage().use_count() == 1) {
        sr::detail::follow_last_holder(value.toTensor());
        sr::detail::follow_last_holder(value.toTensor().storage());
        continue;
      }
      value = c10::IValue();
    }
  }

  void trim() {
    arena_.trim();
    for (const Slot slot : info_->recycled) frame_->values[slot] = c10::IValue();
  }

  void reserve() { arena_.prepare(); }

  const BlockInfo& info() const { return *info_; }
  const memory::Arena& arena() const { return arena_; }

 private:
  void run_node(std::size_t step) {
    const ProcessedNode& node = info_->nodes[step];
    if (arena_.has_own_buffer()) arena_.buffer().begin_step(static_cast<memory::StepIndex>(step));
    observer_->before(index_, step, node);
    NodeView view(node, *frame_);
    if (frame_->dispatches) {
      run_dispatched(view);
    } else {
      node.function(view);
    }
    for (const Slot slot : node.dying) frame_->values[slot] = c10::IValue();
    arena_.end_step(static_cast<memory::StepIndex>(step));
    observer_->after(index_, step, node);
  }

  // Releases what is left after a run elsewhere, which releases no inputs.
  void clear() noexcept {
    for (const Slot slot : info_->inputs) frame_->values[slot] = c10::IValue();
    for (const Slot slot : info_->cleared) frame_->values[slot] = c10::IValue();
    for (const BlockOutput& output : info_->outputs) {
      if (output.moves) frame_->values[output.slot] = c10::IValue();
    }
  }

  void abandon() noexcept {
    frame_->stack.clear();
    for (const ProcessedNode& node : info_->nodes) {
      for (const Slot slot : node.dying) frame_->values[slot] = c10::IValue();
    }
    for (const BlockOutput& output : info_->outputs) {
      if (output.moves) frame_->values[output.slot] = c10::IValue();
    }
    for (const Slot slot : info_->recycled) frame_->values[slot] = c10::IValue();
    finish();
    arena_.interrupt();
  }

  const BlockInfo* info_;
  std::uint32_t index_;
  Frame* frame_;
  const ObserverHooks* observer_;
  memory::Arena arena_;
  bool runs_elsewhere_ = false;
};

}  // namespace sr
