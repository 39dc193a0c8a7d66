// Records one node: its inputs before it runs, its outputs afterwards, and what a replay has to do for it.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/graph/captures.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/aliased_results.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/narrow_constants.hpp>
#include <sr/replay/trace/node_layouts.hpp>
#include <sr/replay/trace/overlaps.hpp>
#include <sr/replay/trace/record.hpp>
#include <sr/replay/trace/recorded_by_data.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/written_tensors.hpp>

namespace sr::replay {

// Made before the node runs. Does nothing once the recording is refused.
class NodeRecorder : private RecordedByData {
 public:
  NodeRecorder(const PreparedModule& content, Frame& frame, Record& record, const ProcessedNode& node)
      : RecordedByData(frame, record, node),
        content_(content),
        values_(frame.values),
        written_(record, frame, node),
        layouts_(record, frame, node) {
    if (record_.has_bailed_out()) return;
    traced_.processed = &node;
    facts_ = facts_of(node);
    note_inputs();
    if (facts_.changes_tensor) written_.note();
  }

  // After it has run.
  void finish() {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      record_.dynamic[node_.first_output + i] = kNone;
      record_.forget_number(node_.first_output + i);
    }
    if (record_.has_bailed_out()) return;  // and nothing more is kept alive for the record
    for (std::uint32_t i = 0; i < node_.output_count; ++i) record_.trace.kept.push_back(output(i));
    if (node_.node->kind() == c10::prim::GetAttr) return record_.meet(output(0));
    if (makes_sparse()) return bail_out("makes a sparse tensor.");
    note_environment();
    const bool is_interpreted = !makes_returned_tuple(*node_.node) &&
                                (asks_for_any_sizes_ || has_dynamic_inputs() || data_decide_sizes());
    layouts_.follow(traced_.inputs, frame_, facts_, is_interpreted);
    traced_.numbers = layouts_.numbers;
    const auto first_tensor = static_cast<TensorId>(record_.trace.tensors.size());
    const auto first_storage = static_cast<StorageId>(record_.trace.storages.size());
    classify();
    layouts_.assign(first_tensor, first_storage);
  }

 private:
  void note_inputs() {
    bool is_static = true;
    for (const Slot slot : node_.inputs) {
      traced_.dynamic_inputs.push_back(record_.dynamic_id(frame_.values[slot], slot));
      is_static &= traced_.dynamic_inputs.back() == kNone;
    }
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const c10::IValue& value = frame_.values[node_.inputs[i]];
      // A look-up with a static key becomes no step, so that nothing asks for the dictionary later.
      const bool is_searched = i == 0 && is_static && looks_up_key(*node_.node);
      traced_.inputs.push_back(is_searched ? c10::IValue() : record_.traced(value));
      record_.trace.kept.push_back(value);
      if (!is_searched) note_sizes_asked(traced_.inputs.back());
    }
    if (node_.sub_blocks.empty()) return;
    const ControlFlowEffects effects = ControlFlowEffects::of(*node_.node);
    if (!effects.are_known)
      bail_out(
          "is a branch or loop that data decide about, and that changes a list, a dictionary or the sizes of "
          "a tensor from outside of it, or calls unknown code.");
    blocks_draw_ = effects.draws;
    traced_.changes_lists = effects.changes_any_list;
    for (const torch::jit::Value* tensor : effects.tensors) {
      const c10::IValue& value = values_[content_.slots.at(tensor)];
      written_.note(value);
      sr::detail::each_tensor(value, [&](const at::Tensor& each) {
        if (record_.is_known(each)) record_.trace.tensors[record_.trace.id_of(each)].any_sizes = false;
      });
    }
    const bool may_return_lists = std::ranges::any_of(
        node_.node->outputs(),
        [](const torch::jit::Value* output) { return sr::detail::may_hold_container(output->type()); });
    for (std::size_t i = 0; may_return_lists && i < node_.inputs.size(); ++i)
      note_returned(i, frame_.values[node_.inputs[i]], traced_.dynamic_inputs[i]);
    for (const torch::jit::Value* value : captures_of(node_.node->blocks())) {
      const Slot slot = content_.slots.at(value);
      if (slot < content_.constants.size()) continue;
      Dims varying = layouts_.add_captured(frame_.values[slot], slot);
      if (!varying.empty()) traced_.captured_numbers.push_back({traced_.captured.size(), std::move(varying)});
      traced_.captured_slots.push_back(slot);
      traced_.captured.push_back(record_.traced(frame_.values[slot]));
      note_sizes_asked(traced_.captured.back());
      traced_.dynamic_captured.push_back(record_.dynamic_id(frame_.values[slot], slot));
      const std::size_t position = traced_.inputs.size() + traced_.captured.size() - 1;
      if (std::ranges::find(effects.lists, value) != effects.lists.end()) {
        change_list(position, frame_.values[slot], traced_.dynamic_captured.back());
      } else if (may_return_lists) {
        note_returned(position, frame_.values[slot], traced_.dynamic_captured.back());
      }
    }
  }

  void classify() {
    if (facts_.has(Fact::unrepeatable))
      return bail_out("has a side effect (for example it prints), which a replay would leave out.");
    if (facts_.has(Fact::reads_whole_storage) || (facts_.has(Fact::views_whole_storage) && reads_of_caller()))
      return bail_out("reads memory outside of its input tensor, which no signature describes.");
    if (facts_.has(Fact::asks_hidden_state) && reads_of_call())
      return bail_out(
          "reads the storage offset, the version or the autograd state of a tensor, which no signature "
          "describes.");
    if (facts_.has(Fact::compares_identity) && compares_values_of_call())
      return bail_out("compares the identity of two values, which no signature describes.");
    if (sr::detail::may_train_statistics(*node_.node) && trains_statistics())
      return bail_out("trains: it writes its running statistics.");
    if (facts_.changes_container && facts_.builtin && facts_.has(Fact::compares_elements) &&
        tensors_read() != 0)
      return bail_out("compares the tensors of a list.");
    if (facts_.changes_container && !changes_known_container())
      return bail_out("changes a list or dictionary of the model.");
    const bool has_dynamic = has_dynamic_inputs();
    record_.trace.draws_random_numbers |= facts_.is_random || blocks_draw_;
    traced_.is_random = facts_.is_random;
    traced_.draws = draws_from_default();
    traced_.foreign = facts_.foreign;
    traced_.runs_once = (facts_.is_random && !traced_.draws) || calls_unknown_code();
    if (facts_.changes_tensor) return add_change();
    if (has_dynamic && makes_returned_tuple(*node_.node)) {
      record_.trace.dynamic_in_tuples[output(0).internalToPointer()] = traced_.dynamic_inputs;
      return take_outputs();
    }
    if (!node_.sub_blocks.empty() || has_dynamic || facts_.foreign || facts_.is_random) {
      if (facts_.changes_container) {
        const c10::IValue& list = frame_.values[node_.inputs[0]];
        change_list(0, list, traced_.dynamic_inputs[0]);
        if (list.isTensorList()) append_tensor();
      }
      return record_.has_bailed_out() ? void() : add_interpreted();
    }
    if (asks_for_any_sizes_) return add_interpreted();
    take_outputs();
  }
  // Records a node that writes in place: a replay interprets it on the program's own memory.
  void add_change() {
    if (copies_to_itself()) return;
    if (facts_.foreign) return bail_out("changes a tensor in place.");
    traced_.changed = written_.check();
    if (record_.has_bailed_out()) return;
    traced_.role = Role::interpreted;
    traced_.known_tensors = static_cast<TensorId>(record_.trace.tensors.size());
    record_.trace.nodes.push_back(std::move(traced_));
  }

  // LibTorch's copy_ does nothing then. A replay would not know that both tensors are the same data.
  bool copies_to_itself() const {
    if (node_.node->kind() != c10::aten::copy_ || !traced_.inputs[1].isTensor()) return false;
    const Trace& trace = record_.trace;
    const at::Tensor &to = traced_.inputs[0].toTensor(), &from = traced_.inputs[1].toTensor();
    return record_.is_known(to) && record_.is_known(from) &&
           trace.storage_id_of(to) == trace.storage_id_of(from) &&
           is_same_data(to, from, trace.layout_of(to), trace.layout_of(from));
  }

  // Records the outputs of a node without dynamic inputs.
  void take_outputs() {
    const bool reads_tensor = tensors_read() != 0;
    const bool reads_call = reads_of_call();
    const c10::Symbol kind = node_.node->kind();
    bool computes = false;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      bool has_new = false;
      bool has_tensor = false;
      sr::detail::each_tensor(record_.traced(output(i)), [&](const at::Tensor& tensor) {
        has_tensor = true;
        has_new |= !record_.is_known(tensor);
      });
      if (kind == c10::aten::__contains__ && reads_tensor && !has_tensor)
        return bail_out("looks up a tensor among the keys of a dictionary.");
      if (has_new) {
        computes = true;
      } else if (!has_tensor && reads_tensor && reads_call && !facts_.has(Fact::reads_metadata_only) &&
                 !facts_.has(Fact::compares_identity) && !is_structural()) {
        return add_interpreted();
      } else if (has_tensor && facts_.builtin && facts_.has(Fact::compares_elements)) {
        return bail_out("compares the tensors of a list.");
      }
      own(output(i));
    }
    if (!computes) return;
    const auto before = static_cast<StorageId>(record_.trace.storages.size());
    const bool data_decide = data_decide_sizes();
    // Results of static values alone are the same in each call, unless sizes that vary decide about them.
    if (!reads_call && !data_decide && !layouts_.varies()) {
      record_.trace.asked |= Environment::denormals;
      // LibTorch's kernels may round differently on another number of threads.
      if (content_.options.numerics == Numerics::exact) record_.trace.asked |= Environment::threads;
      add_outputs(Home::literal, before);
      return note_narrow_constant(record_, traced_, output(0));
    }
    if (is_view() || record_.has_bailed_out()) return;
    if (data_decide || !outputs_are_plain() || reads_conjugate()) return add_interpreted();
    add_outputs(Home::produced, before);
    add_node();
  }

  void own(const c10::IValue& value) {
    Trace& trace = record_.trace;
    if (value.isList() || value.isGenericDict()) {
      if (trace.given_containers.count(value.internalToPointer()) == 0)
        trace.own.insert(value.internalToPointer());
    }
    if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) own(element);
    }
  }

  // True if every new tensor is a view of a tensor that the node read: then a replay has nothing to do. Bails
  // out if tensors share storage in a way that metadata do not determine.
  bool is_view() {
    std::size_t fresh = 0;
    std::unordered_set<StorageId> sources;
    each_new_output([&](const at::Tensor& tensor) {
      // Steps of LibTorch resolve lazy conjugates. No kernel of sr is given one, since what reads it is
      // interpreted.
      if (!detail::is_replayable(tensor.unsafeGetTensorImpl(),
                                 c10::DispatchKeySet(c10::DispatchKey::Conjugate)))
        bail_out("makes a lazily conjugated or negated tensor, or one that is not dense.");
      if (const StorageId known = record_.storage_of(tensor); known != kNone) {
        sources.insert(known);
      } else {
        ++fresh;
      }
    });
    if (sources.empty() || record_.has_bailed_out()) return false;
    if (fresh != 0) {
      bail_out("returns both views of its inputs and new tensors.");
      return false;
    }
    if (!note_wider_views()) {
      bail_out(
          "views a tensor that lies in a list or dictionary in a larger dtype, which depends on its storage "
          "offset.");
      return false;
    }
    // The view is of the first input, also if another input that decides it has the same storage; or of the
    // only tensor, wherever that is.
    if (!facts_.has(Fact::takes_shape_of_second)) {
      std::size_t tensors = 0;
      for (std::size_t i = 0; i < traced_.inputs.size(); ++i) {
        sr::detail::each_tensor(traced_.inputs[i], [&](const at::Tensor&) {
          if (tensors++ != 0 && i != 0) bail_out("makes a view whose shape another tensor decides.");
        });
      }
    }
    each_new_output(
        [&](const at::Tensor& tensor) { record_.add_tensor(tensor, record_.storage_of(tensor)); });
    return true;
  }

  void add_outputs(Home home, StorageId first_new) {
    const auto producer = static_cast<std::uint32_t>(record_.trace.nodes.size());
    each_new_output([&](const at::Tensor& tensor) {
      const StorageId known = record_.storage_of(tensor);
      if (known == kNone) {
        record_.add_tensor(tensor, record_.add_storage(tensor, {.home = home, .producer = producer}));
      } else if (known >= first_new || home == Home::literal) {
        record_.add_tensor(tensor, known);
      } else {
        bail_out("returns memory of its inputs, which may be other memory in the next call.");
      }
    });
  }

  void add_node() {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      traced_.outputs.push_back(record_.traced(output(i)));
      traced_.dynamic_outputs.push_back(record_.dynamic[node_.first_output + i]);
    }
    record_.trace.nodes.push_back(std::move(traced_));
  }

  // Records a node that replays interpret: they compare the metadata of its tensors with the trace, and take
  // its numbers as they are.
  void add_interpreted() {
    traced_.role = Role::interpreted;
    traced_.may_return_inputs = record_.may_run_twice;
    if (!node_.sub_blocks.empty()) {
      traced_.changed = written_.check_storages();
      traced_.known_tensors = static_cast<TensorId>(record_.trace.tensors.size());
    }
    for (const c10::IValue& value : traced_.captured) {
      if (value.isGenericDict() || (value.isList() && !value.isTensorList() && !value.isIntList() &&
                                    !value.isDoubleList() && !value.isBoolList()))
        return bail_out("is a branch or loop that data decide about, and that reads a list or dictionary.");
    }
    const auto first_new = static_cast<StorageId>(record_.trace.storages.size());
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& value = output(i);
      if (value.isTensor()) {
        const at::Tensor& tensor = value.toTensor();
        if (!tensor.defined()) continue;  // and so in every replay
        if (!detail::is_replayable(tensor.unsafeGetTensorImpl()))
          return bail_out("makes a lazily conjugated or negated tensor, or one that is not dense.");
        if (!record_.is_known(tensor) && record_.storage_of(tensor) == kNone) continue;
        if (!traced_.may_return_inputs)
          return bail_out(
              traced_.foreign
                  ? "returns a tensor that shares memory with one of its inputs."
                  : "returns a tensor that may be one of its inputs, depending on the input data.");
        traced_.returned_input = record_.trace.answers_otherwise = true;
        values_[node_.first_output + i] = copy_at(tensor, tensor.storage_offset());
        continue;
      }
      const ValueId known =
          record_.dynamic_id(value, node_.first_output + i);  // of a list that it has changed
      bool has_tensor = false;
      if (known == kNone) sr::detail::each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
      if (has_tensor)
        return bail_out("returns a list or dictionary of tensors whose length the input data decide.");
      const ValueId id = known != kNone ? known : record_.trace.value_count++;
      record_.dynamic[node_.first_output + i] = id;
      if (value.isList() || value.isGenericDict() || value.isTuple())
        record_.trace.dynamic_containers[value.internalToPointer()] = id;
    }
    const auto first_tensor = static_cast<TensorId>(record_.trace.tensors.size());
    add_outputs(Home::opaque, first_new);
    const bool are_apart =
        record_.trace.tensors.size() - first_tensor == record_.trace.storages.size() - first_new;
    for (TensorId id = first_tensor; are_apart && id < record_.trace.tensors.size(); ++id) {
      record_.trace.tensors[id].any_sizes = true;
      record_.trace.tensors[id].sizes_by_data = data_decide_sizes();
    }
    add_node();
  }

  const PreparedModule& content_;
  std::vector<c10::IValue>& values_;  // of the frame
  WrittenTensors written_;
  NodeLayouts layouts_;
};

}  // namespace sr::replay
