// The recording run: executes a module as the interpreter would, keeps every value alive, and notes what was
// done to which storage. Its results are right whether or not a plan can be made of the record.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sr/alias_rules.hpp>
#include <sr/identity.hpp>
#include <sr/out_protocol.hpp>
#include <sr/plan/classify.hpp>
#include <sr/plan/loop_condition.hpp>
#include <sr/plan/signature.hpp>
#include <sr/plan/trace.hpp>
#include <sr/selection.hpp>
#include <sr/static_module.hpp>

namespace sr::plan {

// Runs on a frame of its own, whose slots hold the constants; the module must outlive it.
class Recorder {
 public:
  Recorder(const ModuleContent& content, Frame& frame)
      : content_(&content), frame_(&frame), dynamic_(content.slot_count, kNone) {}

  // Throws what the operators throw.
  Trace run(std::span<const c10::IValue> args) {
    const BlockInfo& top = content_->blocks[0];
    for (std::size_t i = 0; i < args.size(); ++i) {
      add_leaves(args[i]);
      frame_->values[top.inputs[i]] = args[i];
    }
    for (const c10::IValue& constant : content_->constants) meet(constant);
    run_block(0);
    for (const BlockOutput& output : top.outputs) {
      trace_.results.push_back(frame_->values[output.slot]);
      trace_.dynamic_results.push_back(dynamic_[output.slot]);
    }
    return std::move(trace_);
  }

 private:
  static constexpr std::size_t kMostNodes = 20'000;    // a longer record keeps to the general path
  static constexpr std::size_t kMostUnrolled = 1'000;  // nodes a counted loop may become

  void refuse(const torch::jit::Node& node, const std::string& why) {
    if (trace_.refusal.empty()) trace_.refusal = sr::detail::place_of(node) + " " + why;
  }

  // --- arguments ---

  void add_leaves(const c10::IValue& value) {
    sr::detail::add_identities(value, trace_.callers);
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      const auto known = storages_.find(sr::detail::storage_of(tensor));
      if (known != storages_.end() && trace_.refusal.empty()) {
        trace_.refusal = "Two arguments of the recorded call share memory.";
      }
      add_tensor(tensor, add_storage(tensor, {.home = Home::input, .leaf = trace_.leaf_count++}));
    });
  }

  StorageId add_storage(const at::Tensor& tensor, TracedStorage storage) {
    const c10::StorageImpl* impl = sr::detail::storage_of(tensor);
    storage.bytes = impl != nullptr ? impl->nbytes() : 0;
    const auto id = static_cast<StorageId>(trace_.storages.size());
    trace_.storages.push_back(storage);
    storages_[impl] = id;
    return id;
  }

  TensorId add_tensor(const at::Tensor& tensor, StorageId storage) {
    const auto id = static_cast<TensorId>(trace_.tensors.size());
    trace_.tensors.push_back({tensor, storage});
    trace_.ids.emplace(tensor.unsafeGetTensorImpl(), id);
    return id;
  }

  bool is_known(const at::Tensor& tensor) const {
    return trace_.ids.count(tensor.unsafeGetTensorImpl()) != 0;
  }

  // Tensors a node has returned that were not there before. `visit` may make them known.
  template <class Visit>
  void each_new_output(const ProcessedNode& node, const Visit& visit) const {
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      sr::detail::each_tensor(frame_->values[node.first_output + i], [&](const at::Tensor& tensor) {
        if (!is_known(tensor)) visit(tensor);
      });
    }
  }

  // Tensors nobody made: they come from a constant or an attribute.
  void meet(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      const auto known = storages_.find(sr::detail::storage_of(tensor));
      if (known != storages_.end() && trace_.storages[known->second].home == Home::input &&
          trace_.refusal.empty()) {
        trace_.refusal = "An argument of the recorded call shares memory with a weight.";
      }
      if (is_known(tensor)) return;
      add_tensor(tensor,
                 known != storages_.end() ? known->second : add_storage(tensor, {.home = Home::weight}));
    });
  }

  ValueId dynamic_id(const c10::IValue& value, Slot slot) const {
    if (value.isList() || value.isGenericDict() || value.isTuple()) {
      const auto known = trace_.dynamic_containers.find(value.internalToPointer());
      return known == trace_.dynamic_containers.end() ? kNone : known->second;
    }
    return dynamic_[slot];
  }

  // --- execution ---

  void run_block(std::size_t index) {
    for (const ProcessedNode& node : content_->blocks[index].nodes) run_node(node);
  }

  void run_node(const ProcessedNode& node) {
    if (trace_.nodes.size() > kMostNodes)
      refuse(*node.node, "is beyond the longest record a plan is made of.");
    if (trace_.refusal.empty()) {
      if (node.node->kind() == c10::prim::If && run_if(node)) return;
      if (node.node->kind() == c10::prim::Loop && run_loop(node)) return;
    }
    TracedNode traced;
    traced.processed = &node;
    written_.clear();
    OperatorFacts facts;
    if (trace_.refusal.empty()) {
      facts = facts_of(node);
      note_inputs(node, traced);
      if (facts.changes_tensor) note_written(node);
    }
    execute(node);
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const c10::IValue& value = frame_->values[node.first_output + i];
      trace_.kept.push_back(value);
      dynamic_[node.first_output + i] = kNone;
    }
    if (trace_.refusal.empty()) classify(node, facts, std::move(traced));
  }

  void execute(const ProcessedNode& node) {
    NodeView view(node, *frame_);
    try {
      if (node.kind == NodeKind::out_variant) {
        run_interpreted(view);
      } else {
        node.function(view);
      }
    } catch (c10::Error& error) {
      sr::detail::add_place(error, *node.node);
      throw;
    }
    for (const std::uint32_t block : node.sub_blocks) opaque_blocks_.insert(block);
  }

  // True when the branch was taken into the record.
  bool run_if(const ProcessedNode& node) {
    if (dynamic_[node.inputs[0]] != kNone) return false;
    const std::size_t branch = frame_->values[node.inputs[0]].toBool() ? 0 : 1;
    if (opaque_blocks_.count(node.sub_blocks[branch]) != 0) return false;
    run_block(node.sub_blocks[branch]);
    const auto& outputs = content_->blocks[node.sub_blocks[branch]].outputs;
    for (std::uint32_t i = 0; i < node.output_count; ++i) move_slot(outputs[i].slot, node.first_output + i);
    return true;
  }

  void move_slot(Slot from, Slot to) {
    frame_->values[to] = frame_->values[from];
    dynamic_[to] = dynamic_[from];
  }

  bool run_loop(const ProcessedNode& node) {
    const std::uint32_t body = node.sub_blocks[0];
    if (dynamic_[node.inputs[0]] != kNone || dynamic_[node.inputs[1]] != kNone ||
        opaque_blocks_.count(body) != 0 ||
        !condition_is_static(*node.node, [&](const torch::jit::Value* value) { return is_static(value); })) {
      return false;
    }
    const std::int64_t most = frame_->values[node.inputs[0]].toInt();
    bool go_on = frame_->values[node.inputs[1]].toBool();
    const bool counted = most != std::numeric_limits<std::int64_t>::max();
    const std::size_t length = content_->blocks[body].nodes.size() + 1;
    if (counted && go_on && static_cast<std::size_t>(most) > kMostUnrolled / length) return false;
    const std::size_t carried = node.inputs.size() - 2;
    const auto& slots = node.sub_block_inputs[0];
    std::vector<std::pair<c10::IValue, ValueId>> values;
    for (std::size_t i = 0; i < carried; ++i) {
      values.emplace_back(frame_->values[node.inputs[i + 2]], dynamic_[node.inputs[i + 2]]);
    }
    for (std::int64_t iteration = 0; go_on && iteration < most; ++iteration) {
      frame_->values[slots[0]] = iteration;
      dynamic_[slots[0]] = kNone;
      for (std::size_t i = 0; i < carried; ++i) {
        frame_->values[slots[i + 1]] = values[i].first;
        dynamic_[slots[i + 1]] = values[i].second;
      }
      run_block(body);
      const auto& outputs = content_->blocks[body].outputs;
      go_on = frame_->values[outputs[0].slot].toBool();
      if (dynamic_[outputs[0].slot] != kNone) refuse(*node.node, "goes on or ends by data.");
      for (std::size_t i = 0; i < carried; ++i) {
        values[i] = {frame_->values[outputs[i + 1].slot], dynamic_[outputs[i + 1].slot]};
      }
    }
    for (std::size_t i = 0; i < carried; ++i) {
      frame_->values[node.first_output + i] = values[i].first;
      dynamic_[node.first_output + i] = values[i].second;
    }
    return true;
  }

  bool is_static(const torch::jit::Value* value) const {
    const auto known = content_->slots.find(value);
    return known != content_->slots.end() && dynamic_[known->second] == kNone;
  }

  // --- the record ---

  // The value with containers of its own, as later nodes may change those it has.
  static c10::IValue snapshot(const c10::IValue& value) {
    if (value.isTuple()) {
      std::vector<c10::IValue> elements;
      for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(snapshot(element));
      return sr::detail::tuple_of(value.type(), std::move(elements));
    }
    if (value.isList()) {
      c10::impl::GenericList list = value.toList().copy();
      for (std::size_t i = 0; i < list.size(); ++i) list.set(i, snapshot(list.get(i)));
      return list;
    }
    if (value.isGenericDict()) {
      const c10::impl::GenericDict dict = value.toGenericDict().copy();
      for (const auto& entry : dict) entry.setValue(snapshot(entry.value()));
      return dict;
    }
    return value;
  }

  void note_inputs(const ProcessedNode& node, TracedNode& traced) {
    for (const Slot slot : node.inputs) {
      const c10::IValue& value = frame_->values[slot];
      traced.inputs.push_back(snapshot(value));
      traced.dynamic_inputs.push_back(dynamic_id(value, slot));
      trace_.kept.push_back(value);
    }
    if (node.sub_blocks.empty()) return;
    for (const torch::jit::Value* value : captures_of(*node.node)) {
      const Slot slot = content_->slots.at(value);
      if (slot < content_->constants.size()) continue;
      traced.captured_slots.push_back(slot);
      traced.captured.push_back(snapshot(frame_->values[slot]));
      traced.dynamic_captured.push_back(dynamic_id(frame_->values[slot], slot));
    }
    for (const torch::jit::Block* block : node.node->blocks()) {
      if (!body_is_pure(block))
        refuse(*node.node, "decides by data whether to change something or draw random numbers.");
    }
  }

  void classify(const ProcessedNode& node, const OperatorFacts& facts, TracedNode traced) {
    if (node.node->kind() == c10::prim::GetAttr) return meet(frame_->values[node.first_output]);
    if (facts.has_effect) return refuse(*node.node, "has an effect that a replay would not repeat.");
    if (facts.changes_container && !changes_own_container(traced)) {
      return refuse(*node.node, "changes a container that was not made in the call.");
    }
    const bool has_dynamic = std::any_of(traced.dynamic_inputs.begin(), traced.dynamic_inputs.end(),
                                         [](ValueId id) { return id != kNone; });
    const bool interpreted = !node.sub_blocks.empty() || has_dynamic || facts.foreign || facts.is_random;
    trace_.draws_random_numbers |= facts.is_random;
    if (facts.changes_tensor) return add_change(node, facts, std::move(traced));
    if (interpreted) {
      if (facts.changes_container)
        return refuse(*node.node, "changes a container by a value that depends on data.");
      traced.foreign = facts.foreign;
      traced.is_random = facts.is_random;
      return add_interpreted(node, std::move(traced));
    }
    take_outputs(node, facts, std::move(traced));
  }

  // --- tensors changed in place ---

  // The tensors a node is about to write, as they are before.
  void note_written(const ProcessedNode& node) {
    sr::detail::each_written(node.node->schema(), node.inputs.size(), [&](std::size_t i) {
      sr::detail::each_tensor(frame_->values[node.inputs[i]], [&](const at::Tensor& tensor) {
        if (is_known(tensor)) note_written(tensor);
      });
    });
  }

  void note_written(const at::Tensor& tensor) {
    const StorageId id = trace_.tensors[trace_.id_of(tensor)].storage;
    TracedStorage& storage = trace_.storages[id];
    if (storage.home == Home::literal) {
      at::Tensor bytes = at::empty({static_cast<std::int64_t>(storage.bytes)}, at::kByte);
      if (storage.bytes != 0) std::memcpy(bytes.mutable_data_ptr(), tensor.storage().data(), storage.bytes);
      trace_.initial.push_back({id, std::move(bytes)});
      storage.home = Home::produced;
    }
    Written& written = written_.emplace_back(Written{tensor, {}, tensor.storage_offset(), id});
    written.metadata.assign(tensor);
  }

  // A node that writes what it is given and makes nothing new is interpreted on the plan's own memory.
  void add_change(const ProcessedNode& node, const OperatorFacts& facts, TracedNode traced) {
    if (facts.foreign || written_.empty()) return refuse(*node.node, "changes a tensor in place.");
    for (const Written& written : written_) {
      const Home home = trace_.storages[written.storage].home;
      if (home != Home::produced && home != Home::opaque)
        return refuse(*node.node, "changes a tensor of the caller's in place.");
      const auto storage = storages_.find(sr::detail::storage_of(written.tensor));
      const bool same = written.metadata.matches(written.tensor) &&
                        written.tensor.storage_offset() == written.offset && storage != storages_.end() &&
                        storage->second == written.storage;
      if (!same) return refuse(*node.node, "changes the shape of a tensor in place.");
      traced.changed.push_back(written.storage);
    }
    bool makes_new = false;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const c10::IValue& value = frame_->values[node.first_output + i];
      makes_new |= !value.isTensor() && !value.isTensorList() && !value.isNone();
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { makes_new |= !is_known(tensor); });
    }
    if (makes_new) return refuse(*node.node, "changes a tensor in place and makes another value.");
    traced.role = Role::interpreted;
    traced.is_random = facts.is_random;
    trace_.nodes.push_back(std::move(traced));
  }

  bool changes_own_container(const TracedNode& traced) const {
    const c10::IValue& target = frame_->values[traced.processed->inputs[0]];
    const void* identity = target.isList() || target.isGenericDict() ? target.internalToPointer() : nullptr;
    return identity != nullptr && trace_.own.count(identity) != 0;
  }

  // Of a node without dynamic inputs.
  void take_outputs(const ProcessedNode& node, const OperatorFacts& facts, TracedNode traced) {
    bool reads_tensor = false;
    bool reads_call = false;  // a tensor that is not the same in every call
    for (const c10::IValue& input : traced.inputs) {
      sr::detail::each_tensor(input, [&](const at::Tensor& tensor) {
        reads_tensor = true;
        const Home home = trace_.storage_of(trace_.id_of(tensor)).home;
        reads_call |= home != Home::weight && home != Home::literal;
      });
    }
    bool computes = false;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const c10::IValue& value = frame_->values[node.first_output + i];
      bool has_new = false;
      bool has_tensor = false;
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
        has_tensor = true;
        has_new |= !is_known(tensor);
      });
      if (has_new) {
        computes = true;
      } else if (!has_tensor && reads_tensor && !detail::reads_metadata_only(node.node->kind()) &&
                 !is_structural(node, facts) && reads_call) {
        return add_interpreted(node, std::move(traced));
      } else if (has_tensor && facts.builtin && detail::compares_elements(node.node->kind())) {
        return refuse(*node.node, "compares the tensors of a list.");
      }
      own(value);
    }
    if (!computes) return;
    const StorageId before = static_cast<StorageId>(trace_.storages.size());
    if (!reads_call && !facts.data_decides) return add_outputs(node, Home::literal, before);
    if (is_view(node, traced)) return;
    if (!trace_.refusal.empty()) return;
    if (facts.data_decides || !outputs_are_plain(node)) return add_interpreted(node, std::move(traced));
    add_outputs(node, Home::produced, before);
    finish_node(node, std::move(traced));
  }

  // Builds, unpacks or asks the structure of containers.
  static bool is_structural(const ProcessedNode& node, const OperatorFacts& facts) {
    return facts.builtin && !detail::compares_elements(node.node->kind()) &&
           !reads_elements(node.node->kind());
  }

  static bool reads_elements(c10::Symbol kind) {
    static const detail::Kinds known =
        detail::kinds({"aten::Int", "aten::Float", "aten::Bool", "aten::Complex", "aten::ScalarImplicit",
                       "aten::IntImplicit", "aten::FloatImplicit", "aten::ComplexImplicit", "prim::tolist",
                       "aten::tolist", "aten::item", "aten::str", "aten::format", "prim::unsqueeze_scalar",
                       "aten::is_nonzero", "aten::equal"});
    return known.count(kind) != 0;
  }

  void own(const c10::IValue& value) {
    if (value.isList() || value.isGenericDict()) {
      if (trace_.callers.count(value.internalToPointer()) == 0) trace_.own.insert(value.internalToPointer());
    }
    if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) own(element);
    }
  }

  // True when every new tensor shares the storage of a tensor this node read; then there is nothing to do on
  // a replay. Refuses what shares storage in a way metadata does not decide.
  bool is_view(const ProcessedNode& node, const TracedNode& traced) {
    std::size_t shared = 0, fresh = 0;
    std::unordered_set<StorageId> sources;
    each_new_output(node, [&](const at::Tensor& tensor) {
      if (!detail::is_replayable(tensor.unsafeGetTensorImpl())) {
        refuse(*node.node, "makes a tensor whose elements are not what its bytes say.");
      }
      const auto known = storages_.find(sr::detail::storage_of(tensor));
      if (known == storages_.end()) {
        ++fresh;
      } else {
        ++shared;
        sources.insert(known->second);
      }
    });
    if (shared == 0 || !trace_.refusal.empty()) return false;
    if (fresh != 0) {
      refuse(*node.node, "returns views and new tensors at once.");
      return false;
    }
    if (!detail::shapes_like_second(node.node->kind())) {
      for (const c10::IValue& input : traced.inputs) {
        sr::detail::each_tensor(input, [&](const at::Tensor& tensor) {
          if (sources.count(trace_.tensors[trace_.id_of(tensor)].storage) == 0) {
            refuse(*node.node, "makes a view that another tensor decides about.");
          }
        });
      }
    }
    each_new_output(node, [&](const at::Tensor& tensor) {
      add_tensor(tensor, storages_.at(sr::detail::storage_of(tensor)));
    });
    return true;
  }

  bool outputs_are_plain(const ProcessedNode& node) const {
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const c10::IValue& value = frame_->values[node.first_output + i];
      if (!value.isTensor() || !value.toTensor().defined()) return false;
      if (!detail::is_replayable(value.toTensor().unsafeGetTensorImpl())) return false;
    }
    return true;
  }

  void add_outputs(const ProcessedNode& node, Home home, StorageId first_new) {
    const auto producer = static_cast<std::uint32_t>(trace_.nodes.size());
    each_new_output(node, [&](const at::Tensor& tensor) {
      const auto known = storages_.find(sr::detail::storage_of(tensor));
      if (known != storages_.end() && (known->second >= first_new || home == Home::literal)) {
        add_tensor(tensor, known->second);
      } else if (known != storages_.end()) {
        refuse(*node.node, "returns memory of its inputs that may be another next time.");
      } else {
        add_tensor(tensor, add_storage(tensor, {.home = home, .producer = producer}));
      }
    });
  }

  void finish_node(const ProcessedNode& node, TracedNode traced) {
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      traced.outputs.push_back(snapshot(frame_->values[node.first_output + i]));
      traced.dynamic_outputs.push_back(dynamic_[node.first_output + i]);
    }
    trace_.nodes.push_back(std::move(traced));
  }

  // Tensors it returns are compared with the record on every replay, numbers are taken as they come.
  void add_interpreted(const ProcessedNode& node, TracedNode traced) {
    traced.role = Role::interpreted;
    for (const c10::IValue& value : traced.captured) {
      if (value.isGenericDict() || (value.isList() && !value.isTensorList() && !value.isIntList())) {
        return refuse(*node.node, "reads a container in a branch that data decide about.");
      }
    }
    const auto first_new = static_cast<StorageId>(trace_.storages.size());
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const Slot slot = node.first_output + i;
      const c10::IValue& value = frame_->values[slot];
      if (value.isTensor()) {
        const at::Tensor& tensor = value.toTensor();
        if (!tensor.defined() || is_known(tensor) || storages_.count(sr::detail::storage_of(tensor)) != 0 ||
            !detail::is_replayable(tensor.unsafeGetTensorImpl())) {
          return refuse(*node.node, "returns by data what may be one of its inputs.");
        }
        continue;
      }
      bool has_tensor = false;
      sr::detail::each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
      if (has_tensor) return refuse(*node.node, "returns tensors in a container that data decide about.");
      dynamic_[slot] = trace_.value_count++;
      if (value.isList() || value.isGenericDict() || value.isTuple()) {
        trace_.dynamic_containers[value.internalToPointer()] = dynamic_[slot];
      }
    }
    add_outputs(node, Home::opaque, first_new);
    finish_node(node, std::move(traced));
  }

  struct Written {
    at::Tensor tensor;
    TensorMetadata metadata;
    std::int64_t offset;
    StorageId storage;
  };

  const ModuleContent* content_;
  Frame* frame_;
  Trace trace_;
  std::vector<Written> written_;  // by the node that runs
  std::vector<ValueId> dynamic_;  // by slot
  std::unordered_map<const c10::StorageImpl*, StorageId> storages_;
  std::unordered_set<std::uint32_t> opaque_blocks_;
};

}  // namespace sr::plan
