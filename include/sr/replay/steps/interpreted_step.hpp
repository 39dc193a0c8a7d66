// Nodes of a program that are left to the interpreter.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <c10/util/SmallVector.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/registry/out_protocol.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/steps/bound_node.hpp>
#include <sr/replay/steps/varying.hpp>
#include <sr/replay/trace/aliased_results.hpp>

namespace sr::replay {

// Runs a node by its function. Compares the metadata of results with the trace, and stores numbers in the
// table of values.
struct InterpretedStep final : BoundNode {
  std::string_view name() const override { return shared != nullptr ? "control flow" : "interpreted"; }
  bool may_fail() const override {
    return changes_lists ||
           std::ranges::any_of(results, [](const Result& result) { return result.storage != kNone; });
  }

  struct Result {
    ExpectedResult expected;
    std::int64_t offset = 0;
    StorageId storage = kNone;  // kNone: a number, or no tensor
    ValueId value = kNone;      // kNone: none of these either, an undefined tensor
    bool any_sizes = false;     // see TracedTensor
    std::size_t first = 0;      // the first result that lies in the storage
  };

  bool has_input(Slot slot) const { return std::ranges::find(inputs_, slot, &Input::slot) != inputs_.end(); }
  // `value` holds tensors of `wrappers`. If `dynamic` is not kNone, the table of values holds the value.
  void add_input(Slot slot, c10::IValue value, ValueId dynamic) {
    inputs_.push_back({slot, std::move(value), dynamic});
  }
  // The input is what an interpreted node has made in this call, whatever its sizes are.
  void add_whole(Slot slot, StorageId storage) {
    inputs_.push_back({.slot = slot, .value = {}, .dynamic = kNone, .whole = storage});
  }
  // Makes the list in the slot a copy in each replay, which is then in the table of values.
  void begin_list(Slot slot, ValueId value) {
    std::ranges::find(inputs_, slot, &Input::slot)->begins = value;
  }
  // Makes the number or list of numbers in the slot follow the sizes of the call.
  void vary(Slot slot, const Dims& values) {
    const auto input = std::ranges::find(inputs_, slot, &Input::slot);
    if (input != inputs_.end()) input->number.values_of = values;
  }

  // True if it is given tensors that interpreted nodes have made, or values that may hold some.
  bool may_read_results() const {
    return std::ranges::any_of(
        inputs_, [](const Input& input) { return input.whole != kNone || input.dynamic != kNone; });
  }

  std::unique_ptr<Payload> clone(Frame* blocks) const override {
    auto made = std::make_unique<InterpretedStep>();
    if (shared == nullptr) {
      made->take(node);
    } else {
      made->node = node;
      made->shared = blocks;
    }
    for (const Input& input : inputs_)
      made->inputs_.push_back({input.slot, made->wrappers.clone(input.value, wrappers), input.dynamic,
                               input.number, input.begins, input.whole});
    made->results = results;
    made->copies_inputs = copies_inputs;
    made->may_return_inputs = may_return_inputs;
    made->changes_lists = changes_lists;
    made->constants = constants;
    made->earlier = earlier;
    return made;
  }

  RunStep settle(SizeValues& values) override {
    wrappers.settle(values);
    for (Result& result : results) result.expected.settle(values);
    for (Input& input : inputs_) {
      if (!input.number.values_of.empty())
        input.value = input.number.settled(values, input.value.isIntList());
    }
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    static_cast<const InterpretedStep&>(payload).run_node(context);
  }

  std::vector<Result> results;
  Frame* shared = nullptr;  // control flow: the frame its blocks run on
  bool copies_inputs = false;
  bool may_return_inputs = false;  // see aliased_results.hpp
  bool changes_lists = false;      // control flow: if data end a block's replay, they end the call's
  std::vector<const c10::StorageImpl*> constants;  // that it reads or may; sorted
  std::vector<StorageId> earlier;  // made by earlier interpreted nodes, if it may return what those returned

 private:
  struct Input {
    Slot slot;
    c10::IValue value;
    ValueId dynamic;
    VaryingNumbers number = {};  // gives `value`; empty if that is the same in all calls
    ValueId begins = kNone;      // see begin_list
    StorageId whole = kNone;     // see add_whole
  };

  // Copies for foreign code, which may keep its arguments.
  static c10::IValue copy_of(const c10::IValue& value) {
    if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(value.toTensor().clone()) : value;
    return value.isList() || value.isTuple() || value.isGenericDict() ? value.deepcopy() : value;
  }

  void run_node(Context& context) const {
    wrappers.bind(context.bases);
    Frame& on = shared != nullptr ? *shared : frame;
    const Clear clear{*this, on};
    on.call = context.call;
    on.planner = context.services->planner;
    on.weights = context.services->weights;
    on.blocks = context.services->blocks;
    for (const Input& input : inputs_) {
      if (input.whole != kNone) {
        on.values[input.slot] = (*context.tensors)[input.whole];
        continue;
      }
      const c10::IValue& value = input.dynamic == kNone ? input.value : (*context.values)[input.dynamic];
      // Some operators of LibTorch replace elements of the list that they are given (_unsafe_masked_index).
      const bool may_change = input.dynamic == kNone && shared == nullptr && value.isList();
      on.values[input.slot] = copies_inputs                         ? copy_of(value)
                              : may_change || input.begins != kNone ? c10::IValue(value.toList().copy())
                                                                    : value;
      if (input.begins != kNone) (*context.values)[input.begins] = on.values[input.slot];
    }
    c10::SmallVector<std::pair<Slot, std::size_t>, 2> lists;  // of tensors, with their lengths
    if (changes_lists) find_lists(on, lists);
    NodeView view(node, on);
    if (node.kind == NodeKind::out_variant) {
      call_boxed(view);
    } else {
      node.function(view);
    }
    if (copies_inputs) note_run(view, context.services->ran);
    for (const auto& [slot, length] : lists) check_appended(on.values[slot].toTensorList(), length);
    for (std::size_t i = 0; i < results.size(); ++i) take_result(i, view.output(i), context);
  }

  void find_lists(const Frame& on, c10::SmallVector<std::pair<Slot, std::size_t>, 2>& lists) const {
    for (const Input& input : inputs_) {
      const c10::IValue& value = on.values[input.slot];
      if ((input.dynamic != kNone || input.begins != kNone) && value.isTensorList())
        lists.emplace_back(input.slot, value.toTensorList().size());
    }
  }
  // Throws Deoptimized if a list holds a tensor in memory of the replay, which a block that was not replayed
  // may have appended.
  static void check_appended(const c10::List<at::Tensor>& list, std::size_t first) {
    for (std::size_t i = first; i < list.size(); ++i) {
      const at::Tensor& tensor = list.get(i);
      if (tensor.defined() && memory::is_borrowed(*tensor.storage().unsafeGetStorageImpl()))
        throw Deoptimized("A block appends a tensor of the replay to a list.", Deoptimized::Program::doubted);
    }
  }

  static void note_run(const NodeView& view, RanNodes& ran) {
    std::vector<c10::IValue> outputs;
    for (std::size_t i = 0; i < view.output_count(); ++i) outputs.push_back(view.output(i));
    ran.add(&view.node(), std::move(outputs));
  }

  static bool is_of_kind(const Result& result, const at::Tensor& tensor) {
    const TensorMetadata& expected = result.expected.metadata;
    return tensor.scalar_type() == expected.dtype &&
           static_cast<std::size_t>(tensor.dim()) == expected.sizes.size();
  }

  void take_result(std::size_t i, c10::IValue& value, Context& context) const {
    const Result& result = results[i];
    if (result.storage == kNone && result.value == kNone) {
      if (!value.isTensor() || value.toTensor().defined())
        throw Deoptimized("A result that was no tensor when it was recorded is one.",
                          Deoptimized::Program::doubted);
      return;
    }
    if (result.storage == kNone) {
      (*context.values)[result.value] = std::move(value);
      return;
    }
    const bool same = value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage() &&
                      (result.any_sizes ? is_of_kind(result, value.toTensor())
                                        : result.expected.metadata.matches(value.toTensor())) &&
                      value.toTensor().unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::CPU);
    if (!same)
      throw Deoptimized("A result that depends on data has another shape than when it was recorded.",
                        Deoptimized::Program::doubted);
    at::Tensor tensor = std::move(value).toTensor();
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (memory::is_borrowed(*storage) || std::ranges::binary_search(constants, storage) ||
        is_of_another(result, storage, context)) {
      if (!may_return_inputs)
        throw Deoptimized("An interpreted node returned one of its inputs.", Deoptimized::Program::kept);
      tensor = copy_at(tensor, result.offset);
      storage = tensor.storage().unsafeGetStorageImpl();
    } else if (!result.any_sizes && tensor.storage_offset() != result.offset) {
      throw Deoptimized("A result that depends on data has another shape than when it was recorded.",
                        Deoptimized::Program::doubted);
    }
    if (!shares_as_recorded(i, storage, context))
      throw Deoptimized("Results that depend on data share memory otherwise than when they were recorded.",
                        Deoptimized::Program::doubted);
    if (result.first != i) return;
    context.bases[result.storage] = static_cast<std::byte*>(storage->mutable_data());
    (*context.tensors)[result.storage] = tensor;
  }

  // True if an earlier interpreted node has made the memory in this replay, which it had not when the call
  // was recorded.
  bool is_of_another(const Result& result, const c10::StorageImpl* storage, const Context& context) const {
    return std::ranges::any_of(earlier, [&](StorageId id) {
      const bool shares = is_on((*context.tensors)[id], storage);
      if (id == result.storage && !shares)
        throw Deoptimized("A result that depends on data is no view of what it was when it was recorded.",
                          Deoptimized::Program::doubted);
      return shares && id != result.storage;
    });
  }
  static bool is_on(const at::Tensor& tensor, const c10::StorageImpl* storage) {
    return tensor.defined() && tensor.storage().unsafeGetStorageImpl() == storage;
  }

  // True if result `i` shares memory with the same earlier results as in the recorded call.
  bool shares_as_recorded(std::size_t i, const c10::StorageImpl* storage, const Context& context) const {
    for (std::size_t j = 0; j < i; ++j) {
      if (results[j].storage == kNone || results[j].first != j) continue;
      const bool shares = is_on((*context.tensors)[results[j].storage], storage);
      if (shares != (results[i].first == j)) return false;
    }
    return true;
  }

  // Releases all values of the call, also if an operator throws.
  struct Clear {
    const InterpretedStep& node;
    Frame& frame;
    ~Clear() {
      frame.stack.clear();
      for (const Input& input : node.inputs_) frame.values[input.slot] = c10::IValue();
      for (std::uint32_t i = 0; i < node.node.output_count; ++i) {
        frame.values[node.node.first_output + i] = c10::IValue();
      }
    }
  };

  std::vector<Input> inputs_;
};

}  // namespace sr::replay
