// One node of a recorded call: what goes in before it runs, what has come out of it, and what a replay has to
// do about it.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/record.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/written_tensors.hpp>

namespace sr::replay {

// Made before the node runs. Does nothing once the record is refused.
class NodeRecorder {
 public:
  NodeRecorder(const PreparedModule& content, const Frame& frame, Record& record, const ProcessedNode& node)
      : content_(content), frame_(frame), record_(record), node_(node), written_(record, frame, node) {
    if (record_.is_refused()) return;
    traced_.processed = &node;
    facts_ = facts_of(node);
    note_inputs();
    if (facts_.changes_tensor) written_.note();
  }

  // After it has run.
  void finish() {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) record_.dynamic[node_.first_output + i] = kNone;
    if (record_.is_refused()) return;  // and nothing more is kept alive for the record
    for (std::uint32_t i = 0; i < node_.output_count; ++i) record_.trace.kept.push_back(output(i));
    note_environment();
    classify();
  }

 private:
  const c10::IValue& output(std::uint32_t i) const { return frame_.values[node_.first_output + i]; }

  void refuse(const std::string& why) { record_.refuse(*node_.node, why); }

  // Tensors the node has returned that were not there before. `visit` may make them known.
  template <class Visit>
  void each_new_output(const Visit& visit) const {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      sr::detail::each_tensor(output(i), [&](const at::Tensor& tensor) {
        if (!record_.is_known(tensor)) visit(tensor);
      });
    }
  }

  // What the node asks of the environment.
  void note_environment() {
    Trace& trace = record_.trace;
    const c10::Symbol kind = node_.node->kind();
    bool reads_real = false, makes_real = false;
    const auto is_real = [](const at::Tensor& tensor) {
      return tensor.defined() && !c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    };
    each_input([&](const at::Tensor& tensor) { reads_real |= is_real(tensor); });
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      sr::detail::each_tensor(output(i), [&](const at::Tensor& tensor) { makes_real |= is_real(tensor); });
    }
    if ((makes_real && !reads_real) || kind == c10::aten::result_type || !node_.sub_blocks.empty())
      trace.asked |= Environment::default_dtype;
    if (!detail::leaves_new_memory(kind)) return;
    trace.asked |= Environment::new_memory;
    if (tensors_read() != 0 && trace.environment.fills_memory)
      refuse("fills new memory with NaN (torch.use_deterministic_algorithms).");
  }

  void note_inputs() {
    for (const Slot slot : node_.inputs) {
      const c10::IValue& value = frame_.values[slot];
      traced_.inputs.push_back(detail::snapshot(value));
      traced_.dynamic_inputs.push_back(record_.dynamic_id(value, slot));
      record_.trace.kept.push_back(value);
    }
    if (node_.sub_blocks.empty()) return;
    for (const torch::jit::Value* value : captures_of(*node_.node)) {
      const Slot slot = content_.slots.at(value);
      if (slot < content_.constants.size()) continue;
      traced_.captured_slots.push_back(slot);
      traced_.captured.push_back(detail::snapshot(frame_.values[slot]));
      traced_.dynamic_captured.push_back(record_.dynamic_id(frame_.values[slot], slot));
    }
    for (const torch::jit::Block* block : node_.node->blocks()) {
      if (!body_is_pure(block)) refuse("decides by data whether to change something or draw random numbers.");
    }
  }

  void classify() {
    if (node_.node->kind() == c10::prim::GetAttr) return record_.meet(output(0));
    if (facts_.has_effect) return refuse("has an effect that a replay would not repeat.");
    const c10::Symbol kind = node_.node->kind();
    if (detail::reads_whole_storage(kind) || (detail::views_whole_storage(kind) && reads_of_caller()))
      return refuse("reads memory beside the elements of its input.");
    if (detail::asks_storage(kind) && reads_of_call())
      return refuse("asks where a tensor lies, or how often it was written.");
    if (detail::compares_identity(kind) && compares_values_of_call())
      return refuse("asks whether two names are of one value.");
    if (sr::detail::may_train_statistics(*node_.node) && trains_statistics())
      return refuse("writes the running statistics it is given.");
    if (facts_.changes_container && facts_.builtin && detail::compares_elements(kind) && tensors_read() != 0)
      return refuse("compares the tensors of a list.");
    if (facts_.changes_container && !changes_own_container())
      return refuse("changes a container that was not made in the call.");
    const bool has_dynamic = std::any_of(traced_.dynamic_inputs.begin(), traced_.dynamic_inputs.end(),
                                         [](ValueId id) { return id != kNone; });
    record_.trace.draws_random_numbers |= facts_.is_random;
    traced_.is_random = facts_.is_random;
    traced_.foreign = facts_.foreign;
    traced_.runs_once = facts_.is_random || calls_unknown_code();
    if (facts_.changes_tensor) return add_change();
    if (!node_.sub_blocks.empty() || has_dynamic || facts_.foreign || facts_.is_random) {
      if (facts_.changes_container) return refuse("changes a container by a value that depends on data.");
      return add_interpreted();
    }
    take_outputs();
  }

  // Methods and forked bodies, which the general path would run again. Results of foreign operators are kept
  // for it.
  bool calls_unknown_code() const {
    const torch::jit::Node& node = *node_.node;
    if (node.kind() == c10::prim::CallMethod || node.kind() == c10::prim::CallFunction) return true;
    return node.kind() == c10::prim::fork && !body_is_pure(node.g(c10::attr::Subgraph)->block());
  }

  bool changes_own_container() const {
    const c10::IValue& target = frame_.values[node_.inputs[0]];
    const void* identity = target.isList() || target.isGenericDict() ? target.internalToPointer() : nullptr;
    return identity != nullptr && record_.trace.own.count(identity) != 0;
  }

  // Interpreted on the plan's own memory.
  void add_change() {
    if (facts_.foreign) return refuse("changes a tensor in place.");
    traced_.changed = written_.check();
    if (record_.is_refused()) return;
    traced_.role = Role::interpreted;
    traced_.known_tensors = static_cast<TensorId>(record_.trace.tensors.size());
    record_.trace.nodes.push_back(std::move(traced_));
  }

  // Of a node without dynamic inputs.
  void take_outputs() {
    const bool reads_tensor = tensors_read() != 0;
    const bool reads_call = reads_of_call();
    const c10::Symbol kind = node_.node->kind();
    bool computes = false;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      bool has_new = false;
      bool has_tensor = false;
      sr::detail::each_tensor(output(i), [&](const at::Tensor& tensor) {
        has_tensor = true;
        has_new |= !record_.is_known(tensor);
      });
      if (kind == c10::aten::__contains__ && reads_tensor && !has_tensor)
        return refuse("looks for a tensor among the keys of a dictionary.");
      if (has_new) {
        computes = true;
      } else if (!has_tensor && reads_tensor && reads_call && !detail::reads_metadata_only(kind) &&
                 !is_structural()) {
        return add_interpreted();
      } else if (has_tensor && facts_.builtin && detail::compares_elements(kind)) {
        return refuse("compares the tensors of a list.");
      }
      own(output(i));
    }
    if (!computes) return;
    const auto before = static_cast<StorageId>(record_.trace.storages.size());
    const bool data_decide =
        facts_.data_decides && !detail::chooses_by_integers(node_.node->kind(), traced_.inputs);
    if (!reads_call && !data_decide) {
      record_.trace.asked |= Environment::denormals;
      return add_outputs(Home::literal, before);
    }
    if (is_view() || record_.is_refused()) return;
    if (data_decide || !outputs_are_plain()) return add_interpreted();
    add_outputs(Home::produced, before);
    add_node();
  }

  template <class Visit>
  void each_input(const Visit& visit) const {
    for (const c10::IValue& input : traced_.inputs) sr::detail::each_tensor(input, visit);
  }
  Home home_of(const at::Tensor& tensor) const {
    return record_.trace.storage_of(record_.trace.id_of(tensor)).home;
  }
  std::size_t tensors_read() const {
    std::size_t count = 0;
    each_input([&](const at::Tensor&) { ++count; });
    return count;
  }
  // A tensor that is not the same in every call.
  bool reads_of_call() const {
    bool found = false;
    each_input([&](const at::Tensor& tensor) {
      const Home home = home_of(tensor);
      found |= home != Home::weight && home != Home::literal;
    });
    return found;
  }
  // Memory of the caller's, of which only the elements that a tensor has are part of a signature.
  bool reads_of_caller() const {
    bool found = false;
    each_input([&](const at::Tensor& tensor) { found |= home_of(tensor) == Home::input; });
    return found;
  }

  // Neither of them None, and one that is another in each call.
  bool compares_values_of_call() const {
    const auto is_none = [](const c10::IValue& value) { return value.isNone(); };
    if (std::ranges::any_of(traced_.inputs, is_none)) return false;
    if (node_.inputs[0] == node_.inputs[1]) return false;  // one name
    const auto is_callers = [&](Slot slot) {
      const c10::IValue& value = frame_.values[slot];
      return (value.isList() || value.isTuple() || value.isGenericDict()) &&
             record_.trace.callers.count(value.internalToPointer()) != 0;
    };
    return reads_of_call() || std::ranges::any_of(node_.inputs, is_callers);
  }

  bool trains_statistics() const {
    const auto is_tensor = [](const c10::IValue& value) {
      return value.isTensor() && value.toTensor().defined();
    };
    const bool given = is_tensor(traced_.inputs[3]) || is_tensor(traced_.inputs[4]);
    return given && !(traced_.inputs[5].isBool() && !traced_.inputs[5].toBool());
  }

  // Builds, unpacks or copies containers.
  bool is_structural() const { return facts_.builtin && detail::moves_values(node_.node->kind()); }

  void own(const c10::IValue& value) {
    Trace& trace = record_.trace;
    if (value.isList() || value.isGenericDict()) {
      if (trace.callers.count(value.internalToPointer()) == 0) trace.own.insert(value.internalToPointer());
    }
    if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) own(element);
    }
  }

  // True when every new tensor shares the storage of a tensor this node read; then there is nothing to do on
  // a replay. Refuses what shares storage in a way metadata does not decide.
  bool is_view() {
    std::size_t fresh = 0;
    std::unordered_set<StorageId> sources;
    each_new_output([&](const at::Tensor& tensor) {
      if (!detail::is_replayable(tensor.unsafeGetTensorImpl()))
        refuse("makes a tensor whose elements are not what its bytes say.");
      if (const StorageId known = record_.storage_of(tensor); known != kNone) {
        sources.insert(known);
      } else {
        ++fresh;
      }
    });
    if (sources.empty() || record_.is_refused()) return false;
    if (fresh != 0) {
      refuse("returns views and new tensors at once.");
      return false;
    }
    if (views_wider()) {
      refuse("views elements as larger ones, which may not be where such begin the next time.");
      return false;
    }
    // Of the first input, also where another one that decides has the same storage.
    if (!detail::shapes_like_second(node_.node->kind())) {
      for (std::size_t i = 1; i < traced_.inputs.size(); ++i) {
        sr::detail::each_tensor(traced_.inputs[i], [&](const at::Tensor&) {
          refuse("makes a view that another tensor decides about.");
        });
      }
    }
    each_new_output(
        [&](const at::Tensor& tensor) { record_.add_tensor(tensor, record_.storage_of(tensor)); });
    return true;
  }

  // A view of an argument in a larger dtype than that of what it is a view of.
  bool views_wider() {
    std::int64_t smallest = sizeof(c10::complex<double>);
    for (const c10::IValue& input : traced_.inputs) {
      sr::detail::each_tensor(input, [&](const at::Tensor& tensor) {
        if (record_.trace.storage_of(record_.trace.id_of(tensor)).home == Home::input)
          smallest = std::min(smallest, tensor.element_size());
      });
    }
    bool wider = false;
    each_new_output([&](const at::Tensor& tensor) { wider |= tensor.element_size() > smallest; });
    return wider;
  }

  bool outputs_are_plain() const {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      if (!output(i).isTensor() || !output(i).toTensor().defined()) return false;
      if (!detail::is_replayable(output(i).toTensor().unsafeGetTensorImpl())) return false;
    }
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
        refuse("returns memory of its inputs that may be another next time.");
      }
    });
  }

  void add_node() {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      traced_.outputs.push_back(detail::snapshot(output(i)));
      traced_.dynamic_outputs.push_back(record_.dynamic[node_.first_output + i]);
    }
    record_.trace.nodes.push_back(std::move(traced_));
  }

  // Tensors it returns are compared with the record on every replay, numbers are taken as they come.
  void add_interpreted() {
    traced_.role = Role::interpreted;
    for (const c10::IValue& value : traced_.captured) {
      if (value.isGenericDict() || (value.isList() && !value.isTensorList() && !value.isIntList()))
        return refuse("reads a container in a branch that data decide about.");
    }
    const auto first_new = static_cast<StorageId>(record_.trace.storages.size());
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& value = output(i);
      if (value.isTensor()) {
        const at::Tensor& tensor = value.toTensor();
        if (!tensor.defined()) continue;  // and so in every replay
        if (record_.is_known(tensor) || record_.storage_of(tensor) != kNone ||
            !detail::is_replayable(tensor.unsafeGetTensorImpl())) {
          return refuse("returns by data what may be one of its inputs.");
        }
        continue;
      }
      bool has_tensor = false;
      sr::detail::each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
      if (has_tensor) return refuse("returns tensors in a container that data decide about.");
      const ValueId id = record_.trace.value_count++;
      record_.dynamic[node_.first_output + i] = id;
      if (value.isList() || value.isGenericDict() || value.isTuple())
        record_.trace.dynamic_containers[value.internalToPointer()] = id;
    }
    add_outputs(Home::opaque, first_new);
    add_node();
  }

  const PreparedModule& content_;
  const Frame& frame_;
  Record& record_;
  const ProcessedNode& node_;
  WrittenTensors written_;
  TracedNode traced_;
  OperatorFacts facts_;
};

}  // namespace sr::replay
