// A tensor as lowering uses it: a strided window of a storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/tensor_layout.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The name that the kernels have for a dtype; nothing if they cannot convert it.
inline std::optional<kernels::Element> element_of(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
      return kernels::Element::float32;
    case c10::kBool:
      return kernels::Element::boolean;
    case c10::kByte:
      return kernels::Element::uint8;
    case c10::kChar:
      return kernels::Element::int8;
    case c10::kShort:
      return kernels::Element::int16;
    case c10::kInt:
      return kernels::Element::int32;
    case c10::kLong:
      return kernels::Element::int64;
    case c10::kBFloat16:
      return kernels::Element::bfloat16;
    case c10::kHalf:
      return kernels::Element::float16;
    case c10::kDouble:
      return kernels::Element::float64;
    default:
      return std::nullopt;
  }
}

// True if the type is bfloat16 or float16. Kernels convert such elements to fp32, compute, and round the
// results.
inline bool is_16_bit_float(c10::ScalarType dtype) {
  return dtype == c10::kBFloat16 || dtype == c10::kHalf;
}

struct Operand {
  StorageId storage = kNone;
  Size offset = 0;  // elements from the base of the storage in the program
  Dims sizes, strides;
  c10::ScalarType dtype = c10::kFloat;

  std::size_t rank() const { return sizes.size(); }
  const Size& size(std::int64_t d) const { return sizes[from_front(d, rank())]; }
  const Size& stride(std::int64_t d) const { return strides[from_front(d, rank())]; }
  Size count() const { return product_of(sizes); }
  Size byte_offset() const { return offset * c10::elementSize(dtype); }
  bool is_float() const { return dtype == c10::kFloat; }

  // True if elements lie in memory in the order of their indices, without gaps.
  bool is_contiguous() const { return are_dense(sizes, strides); }
  // In all calls; notes no guard.
  friend bool operator==(const Operand& a, const Operand& b) {
    return a.storage == b.storage && a.dtype == b.dtype && Size::always_equal(a.offset, b.offset) &&
           always_equal(a.sizes, b.sizes) && always_equal(a.strides, b.strides);
  }
};

// The operand without its dimensions from `count` on, and without those before `first`.
inline Operand first_dims(Operand operand, std::size_t count) {
  operand.sizes.resize(count);
  operand.strides.resize(count);
  return operand;
}
inline Operand last_dims(Operand operand, std::size_t first) {
  const auto end = static_cast<std::ptrdiff_t>(first);
  operand.sizes.erase(operand.sizes.begin(), operand.sizes.begin() + end);
  operand.strides.erase(operand.strides.begin(), operand.strides.begin() + end);
  return operand;
}

// The part of the operand with `length` indices of dimension `d`, beginning at `first`.
inline Operand part_of_dim(Operand operand, std::size_t d, const Size& first, const Size& length) {
  operand.offset += operand.strides[d] * first;
  operand.sizes[d] = length;
  return operand;
}

// The strides with which the operand is read when it is broadcast to these sizes: 0 where it repeats.
inline Dims broadcast_strides(const Operand& operand, c10::ArrayRef<Size> sizes) {
  Dims strides(sizes.size(), 0);
  for (std::size_t d = 0; d < operand.rank(); ++d) {
    const std::size_t to = sizes.size() - operand.rank() + d;
    if (operand.sizes[d] != 1) strides[to] = operand.strides[d];
  }
  return strides;
}

// Merges the leading dimensions of an operand into rows of equal distance, each contiguous: {rows, distance},
// or {-1, 0} if that is not possible.
inline std::pair<Size, Size> as_rows(const Operand& operand, std::size_t row_rank = 1) {
  const std::pair<Size, Size> none{-1, 0};
  if (operand.rank() < row_rank) return none;
  Size length = 1;
  for (std::size_t d = operand.rank(); d-- > operand.rank() - row_rank;) {
    if (operand.sizes[d] != 1 && operand.strides[d] != length) return none;
    length *= operand.sizes[d];
  }
  Size rows = 1;
  Size distance = length;
  bool first = true;
  for (std::size_t d = operand.rank() - row_rank; d-- > 0;) {
    if (operand.sizes[d] == 1) continue;
    if (first) {
      distance = operand.strides[d];
      first = false;
    } else if (operand.strides[d] != distance * rows) {
      return none;
    }
    rows *= operand.sizes[d];
  }
  return {rows, distance};
}

inline bool all_of(std::initializer_list<const Operand*> operands, c10::ScalarType type) {
  return std::all_of(operands.begin(), operands.end(),
                     [=](const Operand* operand) { return operand->dtype == type; });
}
inline bool all_float(std::initializer_list<const Operand*> operands) {
  return all_of(operands, c10::kFloat);
}

}  // namespace sr::replay
