// Makes the results template of a program from the results of the recorded call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/programs/results.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Used when every node is lowered. Results and variables share no memory: where they would, and where a
// variable would share memory of the caller or of the module, one of them is a copy.
class ResultMaker {
 public:
  // Makes the new values of variables if `is_state`, for which the results must be made, else the results.
  ResultMaker(const Trace& trace, Lowering& lowering, Program& program, bool is_state)
      : trace_(trace),
        lowering_(lowering),
        program_(program),
        results_(is_state ? program.assigned : program.results),
        is_state_(is_state) {}

  // Fills in the template, or the reason why a replay cannot build the results.
  void make() {
    const std::size_t first = is_state_ ? trace_.result_count : 0;
    const std::size_t end = is_state_ ? trace_.results.size() : trace_.result_count;
    results_.roots = static_cast<std::uint32_t>(end - first);
    count_tensors(first, end);
    if (!is_state_) {
      for (const auto& [position, container] : trace_.changed_containers)
        results_.changed.push_back(position);
    }
    const std::size_t first_changed = end - results_.changed.size();
    for (std::size_t i = first; i < end; ++i) {
      numbers_ = trace_.number_results[i].data();
      if (i < first_changed) {
        note(trace_.results[i], trace_.dynamic_results[i], /*has_number=*/true);
      } else {
        note_elements(trace_.results[i], ResultNode());
      }
    }
    if (program_.bailout.empty()) results_.finish();
  }

 private:
  void bail_out(const std::string& why) {
    if (program_.bailout.empty()) program_.bailout = why;
  }

  void count_tensors(std::size_t first, std::size_t end) {
    std::unordered_set<TensorId> seen;
    for (std::size_t i = first; i < end; ++i) {
      sr::detail::each_tensor(trace_.results[i], [&](const at::Tensor& tensor) {
        const TensorId id = trace_.id_of(tensor);
        if (seen.insert(id).second) ++tensors_on_[trace_.tensors[id].storage];
      });
    }
  }

  // The number of integers in a value, also in tuples.
  static std::size_t integers_in(const c10::IValue& value) {
    if (!value.isTuple()) return value.isInt() ? 1 : 0;
    std::size_t sum = 0;
    for (const c10::IValue& element : value.toTupleRef().elements()) sum += integers_in(element);
    return sum;
  }

  // `has_number` is true unless the value lies in a list or dictionary: `numbers_` has its integers then.
  void note(const c10::IValue& value, ValueId dynamic = kNone, bool has_number = false) {
    const auto self = static_cast<std::uint32_t>(results_.nodes.size());
    ResultNode node;
    const bool container = value.isList() || value.isTuple() || value.isGenericDict();
    if (container) {
      const void* identity = value.internalToPointer();
      const auto known_dynamic = trace_.dynamic_containers.find(identity);
      if (known_dynamic != trace_.dynamic_containers.end()) dynamic = known_dynamic->second;
      if (const auto given = trace_.given_containers.find(identity); given != trace_.given_containers.end()) {
        if (is_state_) return bail_out("The state would be a list or dictionary of the caller.");
        node.kind = ResultNode::Kind::given;
        node.index = given->second;
        results_.nodes.push_back(std::move(node));
        return;
      }
      if (!value.isTuple() && trace_.own.count(identity) == 0 && dynamic == kNone) {
        results_.returns_constants = true;
        return note_literal(value);
      }
      const auto [known, first] = containers_.try_emplace(identity, self);
      if (!first) {
        node.kind = ResultNode::Kind::again;
        node.index = known->second;
        results_.nodes.push_back(std::move(node));
        return;
      }
    }
    if (dynamic != kNone) {
      node.kind = ResultNode::Kind::dynamic;
      node.index = dynamic;
      results_.nodes.push_back(std::move(node));
    } else if (value.isTensor() && value.toTensor().defined()) {
      node.kind = ResultNode::Kind::tensor;
      node.index = note_tensor(value.toTensor());
      results_.nodes.push_back(std::move(node));
    } else if (value.isTuple()) {
      node.kind = ResultNode::Kind::tuple;
      node.type = sr::detail::type_of_tuple(value);
      const auto& elements = value.toTupleRef().elements();
      node.children = static_cast<std::uint32_t>(elements.size());
      results_.nodes.push_back(std::move(node));
      const Size* next = numbers_;
      const auto by_data = trace_.dynamic_in_tuples.find(value.internalToPointer());
      for (std::size_t i = 0; i < elements.size(); ++i) {
        numbers_ = next;
        note(elements[i], by_data == trace_.dynamic_in_tuples.end() ? kNone : by_data->second[i], has_number);
        if (has_number) next += integers_in(elements[i]);
      }
    } else if (value.isList() || value.isGenericDict()) {
      note_elements(value, std::move(node));
    } else if (value.isTensor() || value.isNone() || value.isInt() || value.isDouble() || value.isBool() ||
               value.isString() || value.isDevice() || value.isComplexDouble()) {
      note_literal(value);
      if (value.isInt() && has_number) results_.nodes.back().number = *numbers_;
    } else {
      bail_out("The model returns a value of the type " + value.type()->repr_str() +
               ", which no plan makes.");
    }
  }

  // Notes a list or dictionary of these elements.
  void note_elements(const c10::IValue& value, ResultNode node) {
    if (value.isList()) {
      node.kind = ResultNode::Kind::list;
      node.type = value.toList().elementType();
      const auto elements = value.toListRef();
      node.children = static_cast<std::uint32_t>(elements.size());
      results_.nodes.push_back(std::move(node));
      for (const c10::IValue& element : elements) note(element);
    } else {
      node.kind = ResultNode::Kind::dict;
      const auto dict = value.toGenericDict();
      node.type = dict.keyType();
      node.value_type = dict.valueType();
      node.children = static_cast<std::uint32_t>(dict.size());
      results_.nodes.push_back(std::move(node));
      for (const auto& entry : dict) {
        note(entry.key());
        note(entry.value());
      }
    }
  }

  void note_literal(const c10::IValue& value) {
    ResultNode node;
    node.literal = c10::IValue(value);
    results_.nodes.push_back(std::move(node));
  }

  // True if the result must be a copy, because the tensor shares memory with the other side.
  bool is_shared(const Operand& operand) const {
    const TracedStorage& storage = lowering_.storages()[operand.storage];
    if (!is_state_) return trace_.is_state(storage);
    if (trace_.is_state(storage) || storage.home == Home::literal) return false;
    const auto is_here = [&](const FreshStorage& fresh) { return fresh.storage == operand.storage; };
    const auto is_opaque = [&](const ResultTensor& result) {
      return result.kind == ResultTensor::From::opaque && result.from == operand.storage;
    };
    return storage.home == Home::input || storage.home == Home::weight ||
           std::ranges::any_of(program_.results.fresh, is_here) ||
           std::ranges::any_of(program_.results.tensors, is_opaque);
  }

  // Emits a copy of the tensor to a new storage, and returns a result on that storage. `recorded` is the
  // storage of the tensor in the trace.
  ResultTensor copy_of(const Operand& operand, StorageId recorded) {
    if (tensors_on_.at(recorded) != 1)
      bail_out("Several views of one tensor would have to be copied, since the state shares no memory.");
    ResultTensor result;
    result.dtype = operand.dtype;
    result.layout = {operand.sizes, operand.strides, 0};
    Operand from = operand;
    from.sizes = {result.layout.extent()};
    from.strides = {1};
    const Operand to = lowering_.temporary(from.sizes, operand.dtype);
    if (!lower::emit_copies(lowering_, {{from, to}})) bail_out("A result could not be copied.");
    result.from = fresh_storage_of(to.storage, lowering_.storages()[to.storage]);
    return result;
  }

  std::uint32_t note_tensor(const at::Tensor& tensor) {
    const TensorId id = trace_.id_of(tensor);
    const auto [known, first] = tensors_.try_emplace(id, static_cast<std::uint32_t>(results_.tensors.size()));
    if (!first) return known->second;
    if (tensor.is_conj() || tensor.is_neg())
      bail_out("The model returns a lazily conjugated or negated tensor.");
    const Operand operand = lowering_.operand(tensor);
    if (is_shared(operand)) {
      results_.tensors.push_back(copy_of(operand, trace_.tensors[id].storage));
      return known->second;
    }
    const TracedStorage& storage = lowering_.storages()[operand.storage];
    ResultTensor result;
    result.dtype = operand.dtype;
    result.layout = {operand.sizes, operand.strides, operand.offset};
    switch (storage.home) {
      case Home::input:
        result.from = storage.leaf;
        result.kind = tensor.is_same(lowering_.tensor_of(operand.storage)) ? ResultTensor::From::argument
                                                                           : ResultTensor::From::view;
        break;
      case Home::weight:
        pinned(operand.sizes);
        pinned(operand.strides);
        result.layout.offset = operand.offset.pin();
        // A copy: the caller gets the recorded tensor, and may change the metadata of a view.
        result.kind =
            trace_.tensors[id].given ? ResultTensor::From::constant : ResultTensor::From::constant_view;
        result.constant = trace_.tensors[id].given ? tensor : same_view(tensor);
        results_.returns_constants = true;
        break;
      case Home::opaque:
        result.kind = ResultTensor::From::opaque;
        result.from = operand.storage;
        result.is_whole = tensor.is_same(lowering_.tensor_of(operand.storage));
        break;
      case Home::literal:
      case Home::produced:
        result.kind = ResultTensor::From::fresh;
        result.from = fresh_storage_of(operand.storage, storage);
        break;
    }
    results_.tensors.push_back(std::move(result));
    return known->second;
  }

  std::uint32_t fresh_storage_of(StorageId id, const TracedStorage& storage) {
    const auto [known, first] = fresh_.try_emplace(id, static_cast<std::uint32_t>(results_.fresh.size()));
    if (first) {
      FreshStorage fresh{id, storage.bytes, nullptr};
      if (storage.home == Home::literal) {
        // A copy: steps read the literal itself.
        fresh.storage = static_cast<StorageId>(lowering_.storages().size());
        fresh.copy_of = lowering_.constant_base(id);
        program_.constants.push_back(lowering_.tensor_of(id));
        lowering_.temporary({0});
      }
      results_.fresh.push_back(fresh);
    }
    return known->second;
  }

  const Trace& trace_;
  Lowering& lowering_;
  Program& program_;
  Results& results_;
  const Size* numbers_ = nullptr;  // of the value that is noted
  bool is_state_;
  std::unordered_map<StorageId, std::size_t> tensors_on_;      // of these results, by storage
  std::unordered_map<const void*, std::uint32_t> containers_;  // positions in the results, by identity
  std::unordered_map<TensorId, std::uint32_t> tensors_;
  std::unordered_map<StorageId, std::uint32_t> fresh_;
};

}  // namespace sr::replay
