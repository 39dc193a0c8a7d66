// Builds the results of a replay from a template of the recorded call's results.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/base/last_holder.hpp>
#include <sr/replay/programs/direct_result.hpp>
#include <sr/replay/programs/given_containers.hpp>
#include <sr/replay/programs/result_template.hpp>
#include <sr/replay/steps/fresh_tensor.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

class Results {
 public:
  // Addresses of the tensors in the arguments, depth first. `arguments` are searched only if needed.
  using Arguments = std::span<const c10::IValue>;

  std::vector<FreshStorage> fresh;
  std::vector<ResultTensor> tensors;
  std::vector<ResultNode> nodes;
  std::uint32_t roots = 1;
  // The lists and dictionaries of the arguments that the program changes, as positions in the order of
  // each_container. The last roots contain their new elements.
  std::vector<std::uint32_t> changed;
  bool returns_constants = false;
  std::vector<DirectResult> direct;  // depth first, when each can be written where the caller says

  bool has_literals = false;  // some of these are copies of literals
  // Which results are kept, and reused once neither they nor their storages have another holder: those of the
  // last call or of the last two, since an iteration of a loop reads the results of the previous iteration.
  enum class Reuse : std::uint8_t { never, of_last, of_last_two };
  Reuse reuse = Reuse::never;

  // Allocates the storages of the results, and enters their addresses in the table of bases.
  void prepare(std::byte** bases) {
    if (recycles_) {
      recycle(bases);
    } else {
      allocate(bases);
    }
  }

  // Must be called after the steps: makes the results of the storages that `prepare` allocated, and changes
  // the lists and dictionaries of the arguments.
  c10::IValue build(const Context& context, Arguments arguments) {
    if (nodes.size() == 1 && nodes[0].kind == ResultNode::Kind::tensor) {
      return c10::IValue(make(0, context, arguments));
    }
    std::vector<c10::IValue> all = build_all(context, arguments);
    if (!changed.empty()) give_elements(changed, arguments, all);
    return sr::detail::join_results(std::move(all));
  }
  // Does what build does, but returns the results as a vector.
  std::vector<c10::IValue> build_all(const Context& context, Arguments arguments) {
    std::vector<c10::IValue> all;
    all.reserve(roots);
    build_each(context, arguments, [&](std::size_t, c10::IValue value) { all.push_back(std::move(value)); });
    return all;
  }
  // Calls give(i, value) for each result. `give` may release what the values were made of.
  template <class Give>
  void build_each(const Context& context, Arguments arguments, const Give& give) {
    built_.assign(tensors.size(), at::Tensor());
    values_.assign(nodes.size(), c10::IValue());
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < roots; ++i) give(i, build_node(at, context, arguments));
    built_.clear();
    values_.clear();
  }

  // Makes the caller's buffers the storages of the results, one for each tensor, depth first. Returns false,
  // and writes nothing, if a buffer is not laid out like its result, or overlaps another buffer or an
  // argument (whose first elements are the first bases).
  bool write_into(c10::ArrayRef<at::Tensor> buffers, std::byte** bases,
                  std::span<const std::size_t> leaf_bytes) const {
    if (direct.empty() || buffers.size() != direct.size()) return false;
    const at::Tensor* buffer = buffers.data();
    for (const DirectResult& result : direct) {
      std::byte* const begin = result.address_in(*buffer++);
      if (begin == nullptr) return false;
      for (std::size_t leaf = 0; leaf < leaf_bytes.size(); ++leaf) {
        if (overlap(begin, result.bytes, bases[leaf], leaf_bytes[leaf])) return false;
      }
      for (const DirectResult* other = direct.data(); other != &result; ++other) {
        if (overlap(begin, result.bytes, bases[other->storage], other->bytes)) return false;
      }
      bases[result.storage] = begin;
    }
    copy_literals(bases);
    return true;
  }

  // Writes the results that no step writes into the caller's buffers.
  [[gnu::always_inline]] void copy_literals(std::byte* const* bases) const {
    if (has_literals) [[unlikely]]
      copy_all_literals(bases);
  }
  [[gnu::noinline]] void copy_all_literals(std::byte* const* bases) const {
    for (const DirectResult& result : direct) {
      if (result.copy_of != nullptr) std::memcpy(bases[result.storage], result.copy_of, result.bytes);
    }
  }

  // Computes what depends on the sizes of a call; see Payload::settle.
  void settle(SizeValues& values) {
    for (FreshStorage& each : fresh) each.settle(values);
    for (ResultTensor& tensor : tensors) tensor.settle(values);
    for (ResultNode& node : nodes) {
      if (!node.number.is_constant()) node.literal = values(node.number);
    }
    for (DirectResult& result : direct) {
      const ResultTensor& tensor = tensors[result.tensor];
      result.settle(tensor, fresh[tensor.from].bytes, plain_keys());
    }
    settle_reuse();
  }

  // Must be called when all else is set: finds whether all tensors can be written into the caller's buffers.
  void finish() {
    if (!changed.empty()) return;
    std::vector<std::uint32_t> users(fresh.size(), 0);
    for (const ResultTensor& tensor : tensors) {
      if (tensor.kind == ResultTensor::From::fresh) ++users[tensor.from];
    }
    for (ResultTensor& tensor : tensors) {
      if (tensor.kind != ResultTensor::From::fresh || users[tensor.from] != 1) continue;
      const Size bytes = product_of(tensor.layout.sizes) * c10::elementSize(tensor.dtype);
      tensor.is_alone =
          tensor.layout.offset == 0 && bytes != 0 && Size::always_equal(bytes, fresh[tensor.from].bytes_of);
    }
    std::vector<bool> seen(tensors.size(), false);
    for (const ResultNode& node : nodes) {
      // Only tensors are written; numbers and the keys of dictionaries are not.
      const bool no_tensor = node.kind == ResultNode::Kind::tuple || node.kind == ResultNode::Kind::list ||
                             node.kind == ResultNode::Kind::dict ||
                             (node.kind == ResultNode::Kind::literal &&
                              (node.literal.isScalar() || node.literal.isBool() || node.literal.isString()));
      const bool plain =
          node.kind == ResultNode::Kind::tensor && tensors[node.index].is_alone && !seen[node.index];
      if (plain) {
        seen[node.index] = true;
        direct.emplace_back(node.index, fresh[tensors[node.index].from]);
        has_literals |= direct.back().copy_of != nullptr;
      } else if (!no_tensor) {
        direct.clear();
        return;
      }
    }
  }

  void release() noexcept {
    if (!recycles_) storages_.clear();
  }

  // Drops the kept tensors that the caller or the state of the model holds after a call, so that their
  // reference counts are those of the interpreter.
  void end_call() {
    if (!recycles_) return;
    for (int i = 0; i < 2; ++i) {
      drop_taken();
      swap_calls();
    }
  }

 private:
  // What a block returns stays allocated between calls only if it is small.
  static constexpr std::size_t kMostOfBlock = 64 * 1024;

  void settle_reuse() {
    std::size_t bytes = 0;
    for (const FreshStorage& each : fresh) bytes += each.bytes;
    recycles_ = reuse == Reuse::of_last || (reuse == Reuse::of_last_two && bytes <= kMostOfBlock);
    if (recycles_) return;
    for (auto* const storages : {&storages_, &other_storages_}) storages->clear();
    for (auto* const kept : {&kept_, &other_kept_}) kept->clear();
  }

  void allocate(std::byte** bases) {
    storages_.resize(fresh.size());
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      storages_[i] = c10::Storage(fresh_storage(fresh[i].bytes));
      set_base(i, bases, static_cast<std::byte*>(storages_[i].unsafeGetStorageImpl()->mutable_data()));
    }
  }

  void set_base(std::size_t i, std::byte** bases, std::byte* address) const {
    bases[fresh[i].storage] = address;
    if (fresh[i].copy_of != nullptr && fresh[i].bytes != 0)
      std::memcpy(address, fresh[i].copy_of, fresh[i].bytes);
  }

  void recycle(std::byte** bases) {
    if (reuse == Reuse::of_last_two) swap_calls();
    storages_.resize(fresh.size());
    kept_.resize(tensors.size());
    drop_taken();
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (!storages_[i]) storages_[i] = c10::Storage(fresh_storage(fresh[i].bytes));
      set_base(i, bases, static_cast<std::byte*>(storages_[i].unsafeGetStorageImpl()->mutable_data()));
    }
  }

  void swap_calls() {
    storages_.swap(other_storages_);
    kept_.swap(other_kept_);
  }

  // Lets go of the tensors that have another holder, or whose storages have one.
  void drop_taken() {
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      if (is_free(i)) continue;
      storages_[i] = c10::Storage();
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (tensors[t].kind == ResultTensor::From::fresh && tensors[t].from == i) kept_[t] = at::Tensor();
      }
    }
  }

  static bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
  }

  bool is_free(std::size_t i) const {
    if (!storages_[i]) return false;
    const c10::StorageImpl* storage = storages_[i].unsafeGetStorageImpl();
    std::size_t holders = 1;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const ResultTensor& wanted = tensors[t];
      if (wanted.kind != ResultTensor::From::fresh || wanted.from != i || !kept_[t].defined()) continue;
      const c10::TensorImpl* impl = kept_[t].unsafeGetTensorImpl();
      if (kept_[t].use_count() != 1 || !impl->has_storage() ||
          impl->unsafe_storage().unsafeGetStorageImpl() != storage || !impl->sizes().equals(wanted.sizes) ||
          !impl->strides().equals(wanted.strides) || impl->storage_offset() != wanted.offset ||
          impl->dtype() != c10::scalarTypeToTypeMeta(wanted.dtype) || kept_[t].requires_grad() ||
          impl->key_set() != plain_keys()) {
        return false;
      }
      sr::detail::follow_last_holder(kept_[t]);
      ++holders;
    }
    const bool is_alone = storages_[i].use_count() == holders;
    sr::detail::follow_last_holder(storages_[i]);
    return is_alone && storage->nbytes() == fresh[i].bytes && storage->device_type() == at::kCPU &&
           storage->resizable();
  }

  static c10::DispatchKeySet plain_keys() {
    static const c10::DispatchKeySet keys =
        tensor_on(c10::Storage(fresh_storage(0)), at::kFloat, {0}, {1}, 0).key_set();
    return keys;
  }

  at::Tensor argument(std::uint32_t leaf, Arguments arguments) const {
    std::vector<at::Tensor> leaves;
    for (const c10::IValue& value : arguments) {
      if (value.isTensor() && leaves.size() == leaf) return value.toTensor();
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { leaves.push_back(tensor); });
      if (leaves.size() > leaf) break;
    }
    return leaves.at(leaf);
  }

  at::Tensor make(std::uint32_t t, const Context& context, Arguments arguments) {
    const ResultTensor& wanted = tensors[t];
    switch (wanted.kind) {
      case ResultTensor::From::fresh:
        if (recycles_ && kept_[t].defined()) return kept_[t];
        {
          at::Tensor tensor = tensor_on(
              recycles_ || !wanted.is_alone ? storages_[wanted.from] : std::move(storages_[wanted.from]),
              wanted.dtype, wanted.sizes, wanted.strides, wanted.offset);
          if (recycles_) kept_[t] = tensor;
          return tensor;
        }
      case ResultTensor::From::argument:
        return argument(wanted.from, arguments);
      case ResultTensor::From::view: {
        const at::Tensor base = argument(wanted.from, arguments);
        const auto bytes = static_cast<std::int64_t>(c10::elementSize(wanted.dtype));
        return tensor_on(base.storage(), wanted.dtype, wanted.sizes, wanted.strides,
                         base.storage_offset() * base.element_size() / bytes + wanted.offset);
      }
      case ResultTensor::From::constant:
        return wanted.constant;
      case ResultTensor::From::constant_view:
        return same_view(wanted.constant);
      case ResultTensor::From::opaque: {
        const at::Tensor& made = (*context.tensors)[wanted.from];
        if (wanted.is_whole) return made;
        return tensor_on(made.storage(), wanted.dtype, wanted.sizes, wanted.strides, wanted.offset);
      }
    }
    return {};
  }

  c10::IValue build_node(std::size_t& at, const Context& context, Arguments arguments) {
    const std::size_t self = at++;
    const ResultNode& node = nodes[self];
    switch (node.kind) {
      case ResultNode::Kind::tensor:
        if (!built_[node.index].defined()) built_[node.index] = make(node.index, context, arguments);
        return built_[node.index];
      case ResultNode::Kind::literal:
        return node.literal;
      case ResultNode::Kind::dynamic:
        values_[self] = (*context.values)[node.index];
        return values_[self];
      case ResultNode::Kind::again:
        return values_[node.index];
      case ResultNode::Kind::given:
        return container_at(node.index, arguments);
      case ResultNode::Kind::tuple: {
        std::vector<c10::IValue> elements;
        for (std::uint32_t i = 0; i < node.children; ++i)
          elements.push_back(build_node(at, context, arguments));
        values_[self] = sr::detail::tuple_of(node.type, std::move(elements));
        return values_[self];
      }
      case ResultNode::Kind::list: {
        c10::impl::GenericList list(node.type);
        values_[self] = list;
        for (std::uint32_t i = 0; i < node.children; ++i) list.push_back(build_node(at, context, arguments));
        return values_[self];
      }
      case ResultNode::Kind::dict: {
        c10::impl::GenericDict dict(node.type, node.value_type);
        values_[self] = dict;
        for (std::uint32_t i = 0; i < node.children; ++i) {
          c10::IValue key = build_node(at, context, arguments);
          dict.insert(std::move(key), build_node(at, context, arguments));
        }
        return values_[self];
      }
    }
    return {};
  }

  std::vector<c10::Storage> storages_, other_storages_;  // of this call and of the one before
  std::vector<at::Tensor> kept_, other_kept_, built_;
  bool recycles_ = false;  // in this call
  std::vector<c10::IValue> values_;
};

}  // namespace sr::replay
