// The storages of a program: those of the trace, and those that lowering adds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <sr/replay/steps/derived_base.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The trace must outlive it.
class ProgramStorages {
 public:
  explicit ProgramStorages(const Trace& trace) : trace_(trace), storages_(trace.storages) {
    scratch_ = static_cast<StorageId>(storages_.size());
    storages_.resize(storages_.size() + 2, {.home = Home::opaque});
  }

  // True if the bytes are the same in every call. A call may choose which part of a weight it reads.
  bool is_constant(const Operand& operand) const {
    return is_constant(operand.storage) && operand.offset.is_constant();
  }
  bool is_constant(StorageId storage) const {
    return storages_[storage].home == Home::weight || storages_[storage].home == Home::literal;
  }
  // True if it belongs to the model's state, or to an argument that the call writes.
  bool outlives_call(StorageId storage) const { return trace_.outlives_call(storages_[storage]); }
  const float* constant_data(const Operand& operand) const {
    return static_cast<const float*>(constant_base(operand.storage)) + operand.offset.pin();
  }
  const void* constant_bytes(const Operand& operand) const {
    return static_cast<const std::byte*>(constant_base(operand.storage)) + operand.byte_offset().pin();
  }
  bool of_module(const Operand& operand) const { return storages_[operand.storage].home == Home::weight; }

  // The constant of int8 or 16-bit floats whose elements `operand` holds as floats, seen as it is.
  std::optional<Operand> before_widening(const Operand& operand) const {
    const auto found = trace_.narrow.find(operand.storage);
    if (found == trace_.narrow.end() || !is_constant(operand) || found->second.zeros.defined() ||
        found->second.scales.defined())
      return std::nullopt;
    const TracedTensor& narrow = trace_.tensors[found->second.narrow];
    if (!is_constant(narrow.storage)) return std::nullopt;
    Operand made = operand;
    made.storage = narrow.storage;
    made.offset += narrow.layout.offset;
    made.dtype = narrow.recorded.scalar_type();
    return made;
  }

  // What a constant of floats was computed of, a matrix whose rows have k elements: contiguous integers of
  // two dimensions or four, or of three, rows x groups x elements. See NarrowConstant.
  struct DequantizedMatrix {
    Operand integers;
    GroupNumbers zeros, scales;

    std::int64_t rows() const { return scales.values.size(0); }
    std::int64_t groups() const { return scales.values.numel() / std::max<std::int64_t>(rows(), 1); }
    std::int64_t group() const {
      return integers.count().recorded() / std::max<std::int64_t>(scales.values.numel(), 1);
    }
  };
  std::optional<DequantizedMatrix> dequantized(const Operand& operand) const {
    const auto found = trace_.narrow.find(operand.storage);
    if (found == trace_.narrow.end() || !is_constant(operand) || !found->second.scales.defined())
      return std::nullopt;
    const TracedTensor& integers = trace_.tensors[found->second.narrow];
    if (!is_constant(integers.storage) || varies(integers.layout.sizes)) return std::nullopt;
    const TensorLayout& layout = integers.layout;
    return DequantizedMatrix{{integers.storage, layout.offset, layout.sizes, layout.strides, c10::kChar},
                             found->second.zeros,
                             found->second.scales};
  }

  // Adds a contiguous tensor of the program's own.
  Operand temporary(Dims sizes, c10::ScalarType dtype = c10::kFloat) {
    Operand made{static_cast<StorageId>(storages_.size()), 0, std::move(sizes), {}, dtype};
    made.strides = dense_strides(made.sizes);
    storages_.push_back({.home = Home::produced, .bytes = made.count() * c10::elementSize(dtype)});
    return made;
  }

  // Adds a constant of the program's own.
  Operand literal(Dims sizes, at::Tensor tensor) {
    Operand made{static_cast<StorageId>(storages_.size()), 0, std::move(sizes), {}, tensor.scalar_type()};
    made.strides = dense_strides(made.sizes);
    storages_.push_back({.home = Home::literal, .bytes = Size(tensor.nbytes())});
    literals_.emplace(made.storage, std::move(tensor));
    return made;
  }

  // The operand; a small constant of another type is converted while the program is built.
  Operand constant_as(c10::ScalarType type, const Operand& operand) {
    if (operand.dtype == type || !is_constant(operand) || operand.count() > kConvertAtMost) return operand;
    const at::Tensor given = at::from_blob(const_cast<void*>(constant_bytes(operand)), pinned(operand.sizes),
                                           pinned(operand.strides), operand.dtype);
    return literal(operand.sizes, given.to(type).contiguous());
  }

  const void* constant_base(StorageId storage) const {
    const auto known = literals_.find(storage);
    if (known != literals_.end()) return known->second.const_data_ptr();
    return tensor_of(storage).storage().data();
  }
  const at::Tensor& tensor_of(StorageId storage) const {
    if (first_tensor_.empty()) {
      first_tensor_.resize(trace_.storages.size(), kNone);
      for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
        TensorId& first = first_tensor_[trace_.tensors[id].storage];
        if (first == kNone) first = id;
      }
    }
    return trace_.tensors[first_tensor_[storage]].recorded;
  }
  // The offset of a storage's address in the table of bases: an argument's address is that of its first
  // element, any other that of the storage. In elements of the view.
  Size base_offset(StorageId storage, std::int64_t element_size) const {
    if (storages_[storage].home != Home::input) return 0;
    const at::Tensor& base = tensor_of(storage);
    const Size& offset = trace_.layout_of(base).offset;
    return element_size <= base.element_size()
               ? offset * (base.element_size() / element_size)
               : offset / (element_size / base.element_size());  // see WiderView
  }

  // The address of an offset in bytes. One that differs between calls has its own base.
  Address address(StorageId storage, const Size& offset) {
    if (offset.is_constant()) return {storage, offset.recorded()};
    for (const DerivedBase& known : derived_) {
      if (known.from == storage && Size::always_equal(known.offset_of, offset)) return {known.base, 0};
    }
    if (storages_[storage].home == Home::opaque) return {storage, offset.pin()};  // known only in the replay
    const auto base = static_cast<StorageId>(storages_.size());
    storages_.push_back({.home = Home::opaque});
    derived_.push_back({base, storage, offset});
    return {base, 0};
  }

  // Further entries of the table of bases: the scratch of fused steps, and a null base for absolute
  // addresses.
  StorageId scratch() const { return scratch_; }
  StorageId absolute() const { return scratch_ + 1; }

  const Trace& trace() const { return trace_; }
  std::vector<TracedStorage>& storages() { return storages_; }
  const std::vector<TracedStorage>& storages() const { return storages_; }
  std::unordered_map<StorageId, at::Tensor>& literals() { return literals_; }
  std::vector<DerivedBase>& derived() { return derived_; }

 private:
  static constexpr std::size_t kConvertAtMost = std::size_t{1} << 14;  // elements of a constant

  const Trace& trace_;
  StorageId scratch_ = 0;
  std::vector<TracedStorage> storages_;
  std::unordered_map<StorageId, at::Tensor> literals_;
  std::vector<DerivedBase> derived_;
  mutable std::vector<TensorId> first_tensor_;  // by storage of the trace
};

}  // namespace sr::replay
