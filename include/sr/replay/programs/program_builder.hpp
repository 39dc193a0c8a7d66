// From a trace to a program: lowers every node, fuses pointwise operations, and requests memory.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sr/base/error.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/fusion/dead_operations.hpp>
#include <sr/replay/fusion/fusion.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/node_steps.hpp>
#include <sr/replay/programs/image_loop_search.hpp>
#include <sr/replay/programs/memory_requests.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/programs/program_instances.hpp>
#include <sr/replay/programs/result_maker.hpp>
#include <sr/replay/programs/spilled_weights.hpp>
#include <sr/replay/programs/step_makers.hpp>
#include <sr/replay/programs/variable_writes.hpp>
#include <sr/replay/programs/written_arguments.hpp>
#include <sr/replay/steps/initial_bytes_step.hpp>

namespace sr::replay {

// Thrown if sr has no kernel for a node whose images would be stored in NHWC.
struct ImagesNotTaken {
  std::set<StorageId> images;
};

class ProgramBuilder {
 public:
  // `blocks` is the frame on which control flow that data decide runs its blocks; null if the trace has none.
  // The images in `in_order` keep LibTorch's layout. `may_loop`: memory may hold one image of a batch.
  ProgramBuilder(const PreparedModule& content, const WeightSet& weights, const Trace& trace, Frame* blocks,
                 const std::set<StorageId>& in_order, bool may_loop)
      : content_(content),
        weights_(weights),
        trace_(trace),
        blocks_(blocks),
        may_loop_(may_loop),
        lowering_(trace, content.options.numerics, in_order),
        makers_(lowering_) {
    for (const auto prepare : Hook<BeforeLowering>::all()) prepare(lowering_);
  }

  // Makes all but the layout of memory and the signature. The trace must be complete. Throws ImagesNotTaken.
  std::unique_ptr<Program> make() {
    program_ = std::make_unique<Program>();
    notes_ = std::make_shared<ProgramNotes>();
    program_->notes = notes_;
    for (const InitialBytes& initial : trace_.initial) {
      InitialBytesStep step;
      step.bytes = initial.bytes;
      step.to = {initial.storage, 0};
      lowering_.emit(std::move(step), {}, {initial.storage});
    }
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      const std::size_t before = lowering_.drafts().size();
      lower(i);
      makers_.note(i);
      note_failures(trace_.nodes[i], before);
    }
    if (fails_after_run_once_) {
      program_->bailout =
          "Random numbers are drawn from a generator of the model, or code is called of which nothing is "
          "known, "
          "and data could end a replay after that.";
    }
    note_written_variables(lowering_, *program_);
    // Copies of results and variables belong to the graph's return.
    lowering_.begin(static_cast<std::uint32_t>(trace_.nodes.size()));
    notes_->nodes.push_back(content_.graph->return_node());
    ResultMaker(trace_, lowering_, *program_, /*is_state=*/false).make();
    if (program_->bailout.empty()) ResultMaker(trace_, lowering_, *program_, /*is_state=*/true).make();
    commit_variables(trace_, lowering_, *program_);
    if (!program_->bailout.empty()) return std::move(program_);
    measure_leaves();
    finish_steps();
    return std::move(program_);
  }

 private:
  void lower(std::uint32_t i) {
    const TracedNode& node = trace_.nodes[i];
    lowering_.begin(i);
    SizeScope::current().decide_for(node.processed->node->kind().toQualString());
    notes_->nodes.push_back(node.processed->node);
    if (node.role == Role::nothing) return;
    const std::size_t before = lowering_.drafts().size();
    const bool writes =
        node.role == Role::interpreted && !node.changed.empty() && node.processed->sub_blocks.empty();
    const bool returns_number = returns_one_number(node);
    const bool runs_kernel =
        ((node.role == Role::compute || writes || returns_number) && lower_to_kernels(node)) ||
        (returns_number && lower::call_number_function(lowering_, node));
    remark(i, runs_kernel);
    if (writes && !runs_kernel && !node.twin.empty())
      throw InternalError("No kernel writes the rows of a variable.");
    if (runs_kernel) {
      program_->kernels += lowering_.drafts().size() - before;
      return;
    }
    if (std::set<StorageId> images = lowering_.images_with_channels_last(node); !images.empty())
      throw ImagesNotTaken{std::move(images)};
    if (node.role == Role::compute) {
      if (!node.twin.empty()) return write_copy(node);
      if (lower::call_out_variant(lowering_, node)) {
        ++program_->calls;
        return;
      }
    }
    lower::interpret(lowering_, node, blocks_);
    ++program_->interpreted;
  }

  void remark(std::uint32_t i, bool runs_kernel) {
    for (const auto remark_on : Hook<Remark>::all()) {
      if (auto text = remark_on(lowering_, trace_.nodes[i], runs_kernel))
        notes_->remarks.emplace_back(i, std::move(*text));
    }
  }

  // For an in-place operator whose functional twin has no kernel: the operator writes a copy of its operand.
  void write_copy(const TracedNode& node) {
    const Operand result = lowering_.output(node);
    if (!lower::emit_copies(lowering_, {{*lowering_.input(node, 0), result}}))
      throw InternalError("A tensor that is written in place could not be copied.");
    TracedNode in_place = node;
    in_place.inputs[0] = node.outputs[0];
    in_place.outputs.clear();
    in_place.changed = {result.storage};
    lower::interpret(lowering_, in_place, blocks_);
    ++program_->interpreted;
  }

  // When data lead a replay elsewhere, the general path makes the whole call again: no node that may run only
  // once may have run before.
  void note_failures(const TracedNode& node, std::size_t first_draft) {
    const std::vector<Draft>& drafts = lowering_.drafts();
    bool may_fail = false;
    for (std::size_t d = first_draft; d < drafts.size(); ++d)
      may_fail |= drafts[d].step.payload != nullptr && drafts[d].step.payload->may_fail();
    // The sizes of random results are static, so that their own nodes cannot fail.
    fails_after_run_once_ |= may_fail && (has_run_once_ || (node.runs_once && !node.is_random));
    has_run_once_ |= node.runs_once;
    program_->may_draw_again |= may_fail && (has_drawn_ || (node.draws && !node.is_random));
    has_drawn_ |= node.draws;
    // The general path reuses the results of foreign operators. If those draw numbers as well, restoring the
    // generator would shift the sequence.
    is_foreign_ |= node.foreign;
    fails_after_run_once_ |= program_->may_draw_again && is_foreign_;
  }

  // True if the only result is a number that depends on data, such as that of x.item().
  static bool returns_one_number(const TracedNode& node) {
    return node.role == Role::interpreted && node.processed->sub_blocks.empty() && node.changed.empty() &&
           node.outputs.size() == 1 && node.dynamic_outputs[0] != kNone;
  }

  bool lower_to_kernels(const TracedNode& node) {
    if (std::ranges::any_of(node.numbers, &NumberInput::is_operand)) return false;
    const std::string key = node.twin.empty() ? key_of(*node.processed->node) : node.twin;
    const OperatorParts spec = registry().operator_of(key);
    const bool as_recorded =
        lowering_.images_with_channels_last(node).empty();  // as LibTorch's kernels need it
    const auto lower = [&] {
      return (spec.to_kernel != nullptr && spec.to_kernel(lowering_, node)) ||
             (as_recorded && spec.to_iterator != nullptr && spec.to_iterator(lowering_, node));
    };
    if (node.processed->vector_op != nullptr && lower_by_vector_op(node)) return true;
    if (lower()) return true;
    // Without a placement in a part of another tensor the result suits more kernels.
    bool displaced = false;
    for (const c10::IValue& output : node.outputs)
      displaced |= output.isTensor() && lowering_.displace(output.toTensor());
    return displaced && lower();
  }

  // Lowers an operator that brings its own vector op. Its operands are tensors and numbers.
  bool lower_by_vector_op(const TracedNode& node) {
    const Operand out = lowering_.output(node);
    if (lowering_.exact() || !out.is_float() || out.rank() > kernels::StridedCopy::kMaxRank) return false;
    c10::SmallVector<PointwiseInput, 3> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const c10::IValue& value = node.inputs[i];
      if (const auto operand = lowering_.input(node, i)) {
        if (!operand->is_float()) return false;
        inputs.emplace_back(*operand);
      } else if (value.isDouble() || value.isInt()) {
        inputs.emplace_back(value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble());
      } else {
        return false;
      }
    }
    if (out.count() != 0) lowering_.pointwise(*node.processed->vector_op, std::move(inputs), out);
    return true;
  }

  void measure_leaves() {
    for (std::uint32_t leaf = 0; leaf < trace_.leaf_count; ++leaf) {
      program_->leaf_bytes_of.push_back(trace_.tensors[leaf].layout.extent() *
                                        trace_.tensor(leaf).element_size());
    }
  }

  // --- steps and memory ---

  void finish_steps() {
    std::vector<Draft>& drafts = lowering_.drafts();
    is_result_.assign(lowering_.storages().size(), false);
    for (const auto* const results : {&program_->results, &program_->assigned}) {
      for (const FreshStorage& fresh : results->fresh) is_result_[fresh.storage] = true;
    }
    for (StorageId id = 0; id < is_result_.size(); ++id)
      is_result_[id] = is_result_[id] || lowering_.outlives_call(id);
    drop_dead();
    const std::vector<bool> kept = storages_kept(drafts, is_result_);
    Fusion fusion(lowering_, kept);
    for (Group& group : lowering_.groups()) {
      if (!group.ops.empty()) fusion.finish(group);
    }
    is_result_.resize(lowering_.storages().size(), false);
    if (may_loop_)
      program_->image_loops =
          ImageLoopSearch(lowering_, is_result_, content_.options.debug.least_image_bytes).find();
    const auto& storages = lowering_.storages();
    program_->bases.assign(storages.size(), nullptr);
    program_->scratch_floats = fusion.scratch_floats();
    program_->scratch_storage = lowering_.scratch();
    program_->make_scratch();
    for (const Draft& draft : drafts) {
      program_->steps.push_back(draft.step);
      notes_->writes.emplace_back();
      notes_->steps.push_back({{}, draft.reads, draft.writes});
      if (notes_->steps.size() > trace_.initial.size()) notes_->steps.back().nodes.push_back(draft.step.node);
    }
    makers_.write(notes_->steps);
    notes_->storages = storages;
    notes_->traced_storages = trace_.storages.size();
    notes_->first_state_leaf = trace_.first_state_leaf;
    if (!program_->written_arguments.empty()) notes_->weights = weight_ranges(trace_);
    note_last_writers(drafts);
    program_->draws_random_numbers = trace_.draws_random_numbers;
    for (const AppendedTensor& appended : trace_.appended) program_->appends_to.push_back(appended.list);
    program_->wider_views = trace_.wider_views;
    program_->environment = trace_.environment;
    program_->asked = trace_.asked | lowering_.asked();
    bind_constants(drafts);
    request_memory(drafts, is_result_, *program_);
    note_dead_tensors(drafts, *program_);
    for (const auto& payload : lowering_.payloads()) payload->pack_weights(weights_.packed());
    spill_packed_weights(lowering_);
    program_->payloads = std::move(lowering_.payloads());
    program_->derived = std::move(lowering_.derived());
    program_->has_derived = !program_->derived.empty();
    program_->values.resize(trace_.value_count);
    program_->tensors.resize(storages.size());
    if (trace_.is_of_block) {
      program_->results.reuse = Results::Reuse::of_last_two;
    } else if (content_.options.memory.manage_outputs && trace_.changed_containers.empty()) {
      program_->results.reuse = Results::Reuse::of_last;
    }
    SizeValues recorded;
    program_->settle(recorded);
  }

  void drop_dead() {
    const std::size_t before = lowering_.drafts().size();
    const std::vector<std::uint32_t> positions = drop_dead_operations(lowering_, is_result_);
    program_->kernels -= before - lowering_.drafts().size();
    makers_.move(positions);
  }

  // A tensor that several steps write in parts is complete after the last of them.
  void note_last_writers(const std::vector<Draft>& drafts) {
    std::unordered_map<StorageId, std::uint32_t> last;
    for (std::uint32_t d = 0; d < drafts.size(); ++d) {
      for (const StorageId storage : drafts[d].writes) last[storage] = d;
    }
    for (const auto& [storage, step] : last) notes_->writes[step].push_back(storage);
  }

  void bind_constants(const std::vector<Draft>& drafts) {
    const auto& storages = lowering_.storages();
    for (const Draft& draft : drafts) {
      for (const StorageId storage : draft.reads) {
        if (storages[storage].home == Home::weight || storages[storage].home == Home::literal)
          bind_constant(storage);
      }
    }
    for (const auto& [storage, tensor] : lowering_.literals()) bind_constant(storage);
  }

  void bind_constant(StorageId storage) {
    if (program_->bases[storage] != nullptr) return;
    program_->bases[storage] = static_cast<std::byte*>(const_cast<void*>(lowering_.constant_base(storage)));
    const auto literal = lowering_.literals().find(storage);
    program_->constants.push_back(literal != lowering_.literals().end() ? literal->second
                                                                        : lowering_.tensor_of(storage));
  }

  const PreparedModule& content_;
  const WeightSet& weights_;
  const Trace& trace_;
  Frame* blocks_;
  bool may_loop_;
  Lowering lowering_;
  std::unique_ptr<Program> program_;
  std::shared_ptr<ProgramNotes> notes_;  // its notes
  StepMakers makers_;
  std::vector<bool> is_result_;  // by storage
  bool has_run_once_ = false;
  bool has_drawn_ = false, is_foreign_ = false;  // some node so far
  bool fails_after_run_once_ = false;
};

// Returns a program with memory laid out, or one that holds only the reason why there can be none.
inline std::unique_ptr<Program> build_program(const PreparedModule& content, const WeightSet& weights,
                                              const memory::PlannerOps& planner, const Trace& trace) {
  auto refused = std::make_unique<Program>();
  refused->bailout = trace.bailout;
  if (!refused->bailout.empty()) return refused;
  try {
    std::shared_ptr<ExecutionState> state;
    if (trace.has_blocks()) state = std::make_shared<ExecutionState>(content, weights, planner);
    // Whoever looks at memory after a step finds all images there.
    const bool may_loop = content.options.memory.optimize && content.options.debug.checks() == 0 &&
                          planner.make_buffer == nullptr;
    std::set<StorageId> in_order;
    std::unique_ptr<Program> program;
    while (program == nullptr) {
      Frame* const blocks = state != nullptr ? &state->frame : nullptr;
      try {
        program = ProgramBuilder(content, weights, trace, blocks, in_order, may_loop).make();
      } catch (const ImagesNotTaken& error) {
        in_order.insert(error.images.begin(), error.images.end());
      }
    }
    program->state = std::move(state);
    if (!program->bailout.empty()) return program;
    program->planned = program->requests;
    program->layout = lay_out(content, planner, program->planned);
    return program;
  } catch (const std::exception& error) {
    refused->bailout = std::string("The plan could not be made: ") + error.what();
    return refused;
  }
}

}  // namespace sr::replay
