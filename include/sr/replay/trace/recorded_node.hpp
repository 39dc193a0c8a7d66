// Facts about one node of a recorded call: what it reads, and what it has returned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/record.hpp>
#include <sr/replay/trace/tensor_words.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// All that the constructor is given must outlive it.
class RecordedNode {
 public:
  RecordedNode(const Frame& frame, Record& record, const ProcessedNode& node)
      : frame_(frame), record_(record), node_(node) {}

 protected:
  const c10::IValue& output(std::uint32_t i) const { return frame_.values[node_.first_output + i]; }

  void bail_out(const std::string& why) { record_.bail_out(*node_.node, why); }

  // Visits the tensors that the node has returned and that were not there before. `visit` may make them
  // known.
  template <class Visit>
  void each_new_output(const Visit& visit) const {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      sr::detail::each_tensor(record_.traced(output(i)), [&](const at::Tensor& tensor) {
        if (!record_.is_known(tensor)) visit(tensor);
      });
    }
  }

  // True if it runs code that the general path would run again after a replay that ended half way: a method
  // or a forked body. (Results of foreign operators are kept for the general path.)
  bool calls_unknown_code() const {
    const torch::jit::Node& node = *node_.node;
    if (node.kind() == c10::prim::CallMethod || node.kind() == c10::prim::CallFunction) return true;
    return node.kind() == c10::prim::fork && !has_only_outputs(node.g(c10::attr::Subgraph)->block());
  }

  // Notes which container of the arguments the node changes, if it is one. Returns false if it is the
  // model's.
  bool changes_known_container() {
    const c10::IValue& target = frame_.values[node_.inputs[0]];
    if (!target.isList() && !target.isGenericDict()) return false;
    const void* const identity = target.internalToPointer();
    return record_.trace.own.count(identity) != 0 || record_.trace.dynamic_containers.count(identity) != 0 ||
           record_.change_given(target);
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
  // True if it reads a tensor that is not the same in every call.
  bool reads_of_call() const {
    bool found = false;
    each_input([&](const at::Tensor& tensor) {
      const Home home = home_of(tensor);
      found |= home != Home::weight && home != Home::literal;
    });
    return found;
  }
  // True if it reads memory of the caller, of which a signature describes only the elements of the tensor.
  bool reads_of_caller() const {
    bool found = false;
    each_input([&](const at::Tensor& tensor) { found |= home_of(tensor) == Home::input; });
    return found;
  }

  // True if it compares two values, neither of them None, of which one is another in each call.
  bool compares_values_of_call() const {
    const auto is_none = [](const c10::IValue& value) { return value.isNone(); };
    if (std::ranges::any_of(traced_.inputs, is_none)) return false;
    if (node_.inputs[0] == node_.inputs[1]) return false;  // one name
    if (traced_.inputs[0].isTensor() && traced_.inputs[1].isTensor()) return may_be_same_tensor();
    const auto is_callers = [&](Slot slot) {
      const c10::IValue& value = frame_.values[slot];
      return (value.isList() || value.isTuple() || value.isGenericDict()) &&
             (value.isTuple() || record_.trace.given_containers.count(value.internalToPointer()) != 0);
    };
    return reads_of_call() || std::ranges::any_of(node_.inputs, is_callers);
  }

  // True if a replay may answer differently than the recorded call whether the two operands are one tensor:
  // both are arguments, or one is the result of an interpreted node.
  bool may_be_same_tensor() const {
    const at::Tensor &a = traced_.inputs[0].toTensor(), &b = traced_.inputs[1].toTensor();
    if (a.is_same(b)) return false;
    if (!a.defined() || !b.defined()) return true;
    const auto is_made = [&](const at::Tensor& tensor) {
      return !record_.trace.tensors[record_.trace.id_of(tensor)].given;
    };
    return home_of(a) == Home::opaque || home_of(b) == Home::opaque || (!is_made(a) && !is_made(b));
  }

  bool trains_statistics() const {
    const auto is_tensor = [](const c10::IValue& value) {
      return value.isTensor() && value.toTensor().defined();
    };
    const bool given = is_tensor(traced_.inputs[3]) || is_tensor(traced_.inputs[4]);
    return given && !(traced_.inputs[5].isBool() && !traced_.inputs[5].toBool());
  }

  // True if it only builds, unpacks or copies containers.
  bool is_structural() const { return facts_.builtin && facts_.has(Fact::moves_values); }

  bool outputs_are_plain() const {
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      if (!output(i).isTensor() || !output(i).toTensor().defined()) return false;
      if (!detail::is_replayable(output(i).toTensor().unsafeGetTensorImpl())) return false;
    }
    return true;
  }

  bool makes_sparse() const {
    bool found = false;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      sr::detail::each_tensor(output(i), [&](const at::Tensor& tensor) {
        found |= tensor.defined() && tensor.layout() != c10::kStrided;
      });
    }
    return found;
  }

  bool reads_conjugate() const {
    bool found = false;
    each_input([&](const at::Tensor& tensor) { found |= tensor.is_conj(); });
    return found;
  }

  // Notes the modes of the environment that the node reads.
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
    if (!facts_.has(Fact::leaves_new_memory)) return;
    trace.asked |= Environment::new_memory;
    if (tensors_read() != 0 && trace.environment.fills_memory)
      bail_out("fills new memory with NaN, since torch.use_deterministic_algorithms is on.");
  }

  // Notes arguments that it has returned views of in a larger dtype. LibTorch takes such a view only where a
  // larger element may begin. Returns false if such an argument lies in a container.
  bool note_wider_views() const {
    bool can_be_noted = true;
    each_new_output([&](const at::Tensor& tensor) {
      const StorageId id = record_.storage_of(tensor);
      if (id == kNone || record_.trace.storages[id].home != Home::input) return;
      can_be_noted &= record_.note_wider_view(record_.trace.storages[id].leaf, tensor.element_size());
    });
    return can_be_noted;
  }

  const Frame& frame_;
  Record& record_;
  const ProcessedNode& node_;
  TracedNode traced_;
  NodeFacts facts_;
};

}  // namespace sr::replay
