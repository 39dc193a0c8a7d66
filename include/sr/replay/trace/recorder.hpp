// Records a call: executes the module as the interpreter would, keeps every tensor alive, but not the bytes
// that nothing reads any more, and notes what is done to which storage. The results are right whether or not
// a program can be made of the trace.
#pragma once

#include <limits>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/call_options.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/graph/continuation.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/registry/out_protocol.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/trace/aliased_results.hpp>
#include <sr/replay/trace/dead_memory.hpp>
#include <sr/replay/trace/entry.hpp>
#include <sr/replay/trace/functional_writes.hpp>
#include <sr/replay/trace/in_place_writes.hpp>
#include <sr/replay/trace/loop_condition.hpp>
#include <sr/replay/trace/node_recorder.hpp>
#include <sr/replay/trace/record.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Runs on its own frame, whose slots hold the constants. The module and the entry must outlive it.
class TraceRecorder {
 public:
  TraceRecorder(const PreparedModule& content, const Entry& entry, Frame& frame)
      : content_(&content),
        entry_(&entry),
        frame_(&frame),
        record_(content.slot_count),
        memory_(content, record_) {
    record_.may_run_twice = entry.may_run_twice;
  }

  // The recording follows the symbols among the words of the call's signature. Requires a SizeScope.
  void follow(const std::vector<Size>& signature) { record_.follow(signature); }

  // Makes the trace keep the bytes of all tensors. Otherwise it frees those that no later node reads.
  void keep_bytes() { keeps_bytes_ = true; }

  // `args` are the arguments, then the variables; `numbers` are the inputs by value, in their order. Throws
  // what the operators throw.
  Trace run(std::span<const c10::IValue> args, std::span<const c10::IValue> numbers = {}) {
    record_.trace.environment = Environment::now();
    record_.trace.is_of_block = entry_->block != 0;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const Entry::Input& input = entry_->inputs[i];
      record_.add_argument(args[i], input.slot, /*is_state=*/i >= entry_->argument_count);
      frame_->values[input.slot] = input.by_value ? numbers[record_.trace.value_count] : args[i];
      if (!input.by_value) continue;
      const ValueId id = record_.trace.value_count++;
      record_.dynamic[input.slot] = id;
      const c10::IValue& value = frame_->values[input.slot];
      if (value.isList()) record_.trace.dynamic_containers[value.internalToPointer()] = id;
    }
    record_.inputs_by_value = record_.trace.value_count;
    for (Slot slot = 0; slot < content_->constants.size(); ++slot) record_.meet(frame_->values[slot]);
    run_block(entry_->block);
    record_.trace.result_count = entry_->result_count;
    for (const BlockOutput& output : content_->blocks[entry_->block].outputs) {
      const c10::IValue& value = frame_->values[output.slot];
      if (!value.isInt()) record_.pin_numbers(value, output.slot);
      record_.add_numbers(value, record_.number(output.slot), record_.trace.number_results.emplace_back());
      record_.trace.results.push_back(without_lists(value));
      record_.trace.dynamic_results.push_back(record_.dynamic[output.slot]);
    }
    for (const AppendedTensor& appended : record_.trace.appended) {
      record_.trace.results.emplace_back(appended.tensor);
      record_.trace.dynamic_results.push_back(kNone);
      record_.trace.number_results.emplace_back();
      ++record_.trace.result_count;
    }
    add_changed_containers();
    AliasedResults(record_.trace).decide();
    if (!record_.has_bailed_out()) {
      FunctionalWrites(record_.trace).apply();
      InPlaceWrites(record_.trace).apply();
    }
    return std::move(record_.trace);
  }

 private:
  static constexpr std::size_t kMostNodes = 20'000;    // a longer record keeps to the general path
  static constexpr std::size_t kMostUnrolled = 1'000;  // nodes a counted loop may become

  // Returns the result with an empty list in place of each list of tensors that blocks have changed.
  c10::IValue without_lists(const c10::IValue& value) {
    Trace& trace = record_.trace;
    if (record_.is_list_by_data(value)) {
      const ValueId id = trace.dynamic_containers.at(value.internalToPointer());
      c10::IValue empty = c10::List<at::Tensor>();
      trace.dynamic_containers[empty.internalToPointer()] = id;
      trace.returned_lists[empty.internalToPointer()] = value;
      return empty;
    }
    if (!value.isTuple()) return value;
    std::vector<c10::IValue> elements;
    bool has_list = false;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      elements.push_back(without_lists(element));
      has_list |= !elements.back().is(element);
    }
    if (!has_list) return value;
    return trace.tuple_like(value, std::move(elements));
  }

  // Adds the containers of the arguments that nodes have changed to the results.
  void add_changed_containers() {
    Trace& trace = record_.trace;
    for (const auto& [position, container] : trace.changed_containers) {
      record_.pin_numbers(container, /*slot=*/0);  // it is a list, if any
      const auto at = static_cast<std::ptrdiff_t>(trace.result_count++);
      trace.results.insert(trace.results.begin() + at, container);
      trace.dynamic_results.insert(trace.dynamic_results.begin() + at, kNone);
      trace.number_results.insert(trace.number_results.begin() + at, std::vector<Size>());
    }
  }

  void run_block(std::size_t index) {
    const std::vector<ProcessedNode>& nodes = content_->blocks[index].nodes;
    for (std::size_t step = 0; step < nodes.size(); ++step) {
      run_node(nodes[step]);
      if (!keeps_bytes_) memory_.release(index, step, *frame_);
    }
  }

  void run_node(const ProcessedNode& node) {
    if (frame_->call != nullptr) frame_->call->check();
    if (record_.trace.nodes.size() > kMostNodes)
      record_.bail_out(*node.node, "is beyond the longest record a plan is made of.");
    if (!record_.has_bailed_out()) {
      if (node.node->kind() == c10::prim::If && run_if(node)) return;
      if (node.node->kind() == c10::prim::Loop && run_loop(node)) return;
    }
    NodeRecorder recorder(*content_, *frame_, record_, node);
    execute(node);
    recorder.finish();
    memory_.note(node, *frame_);
  }

  void execute(const ProcessedNode& node) {
    NodeView view(node, *frame_);
    try {
      if (node.kind == NodeKind::out_variant) {
        call_boxed(view);
      } else {
        node.function(view);
      }
    } catch (c10::Error& error) {
      sr::detail::add_place(error, *node.node);
      throw;
    }
    for (const std::uint32_t block : node.sub_blocks) opaque_blocks_.insert(block);
  }

  // Records the branch that is taken. Returns false if data decide it.
  bool run_if(const ProcessedNode& node) {
    if (record_.dynamic[node.inputs[0]] != kNone || is_continuation(*node.node)) return false;
    const std::size_t branch = frame_->values[node.inputs[0]].toBool() ? 0 : 1;
    if (opaque_blocks_.count(node.sub_blocks[branch]) != 0) return false;
    run_block(node.sub_blocks[branch]);
    const auto& outputs = content_->blocks[node.sub_blocks[branch]].outputs;
    for (std::uint32_t i = 0; i < node.output_count; ++i) put(node.first_output + i, get(outputs[i].slot));
    return true;
  }

  // Records all iterations. Returns false if data decide their number, or if a size does and one program is
  // to serve all sizes.
  bool run_loop(const ProcessedNode& node) {
    const std::uint32_t body = node.sub_blocks[0];
    if (record_.dynamic[node.inputs[0]] != kNone || record_.dynamic[node.inputs[1]] != kNone ||
        opaque_blocks_.count(body) != 0 || entry_->loops_by_data.count(body) != 0 ||
        !condition_is_static(*node.node, [&](const torch::jit::Value* value) { return is_static(value); })) {
      return false;
    }
    if (!record_.number(node.inputs[0]).is_constant() && has_only_outputs(&content_->source(body)))
      return false;
    record_.pin_numbers(frame_->values[node.inputs[0]], node.inputs[0]);
    const std::int64_t most = frame_->values[node.inputs[0]].toInt();
    bool go_on = frame_->values[node.inputs[1]].toBool();
    const bool counted = most != std::numeric_limits<std::int64_t>::max();
    const std::size_t length = content_->blocks[body].nodes.size() + 1;
    if (counted && go_on && static_cast<std::size_t>(most) > kMostUnrolled / length) return false;
    const auto& slots = node.sub_block_inputs[0];
    std::vector<Held> carried;
    for (std::size_t i = 2; i < node.inputs.size(); ++i) carried.push_back(get(node.inputs[i]));
    for (std::int64_t iteration = 0; go_on && iteration < most; ++iteration) {
      put(slots[0], {iteration, kNone, {}});
      for (std::size_t i = 0; i < carried.size(); ++i) put(slots[i + 1], carried[i]);
      run_block(body);
      const auto& outputs = content_->blocks[body].outputs;
      go_on = frame_->values[outputs[0].slot].toBool();
      if (record_.dynamic[outputs[0].slot] != kNone) {
        record_.bail_out(*node.node, "goes on or ends by data.");
        record_.trace.loops_by_data.push_back(body);
      }
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = get(outputs[i + 1].slot);
    }
    for (std::size_t i = 0; i < carried.size(); ++i)
      put(node.first_output + static_cast<Slot>(i), carried[i]);
    return true;
  }

  bool is_static(const torch::jit::Value* value) const {
    const auto known = content_->slots.find(value);
    return known != content_->slots.end() && record_.dynamic[known->second] == kNone;
  }

  // The value in a slot, and its id in the trace.
  struct Held {
    c10::IValue value;
    ValueId dynamic;
    Size number;
  };
  Held get(Slot slot) const { return {frame_->values[slot], record_.dynamic[slot], record_.number(slot)}; }
  void put(Slot slot, Held entry) {
    frame_->values[slot] = std::move(entry.value);
    record_.dynamic[slot] = entry.dynamic;
    record_.set_number(slot, entry.number);
    memory_.hold(slot, frame_->values[slot]);
  }

  const PreparedModule* content_;
  const Entry* entry_;
  Frame* frame_;
  Record record_;
  DeadMemory memory_;
  bool keeps_bytes_ = false;
  std::unordered_set<std::uint32_t> opaque_blocks_;  // have run on runners, which know their slots
};

}  // namespace sr::replay
