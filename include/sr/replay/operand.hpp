// A tensor as lowering uses it: a strided window of a storage.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <sr/kernels/table.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The name that the kernels have for a dtype; nothing if they can not convert it.
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
    case c10::kDouble:
      return kernels::Element::float64;
    default:
      return std::nullopt;
  }
}

using Dims = c10::SmallVector<std::int64_t, 4>;

struct Operand {
  StorageId storage = kNone;
  std::int64_t offset = 0;  // elements from the base of the storage in the program
  Dims sizes, strides;
  c10::ScalarType dtype = c10::kFloat;

  std::size_t rank() const { return sizes.size(); }
  std::int64_t size(std::int64_t d) const { return sizes[index(d)]; }
  std::int64_t stride(std::int64_t d) const { return strides[index(d)]; }
  std::size_t count() const {
    std::size_t product = 1;
    for (const std::int64_t size : sizes) product *= static_cast<std::size_t>(size);
    return product;
  }
  std::int64_t byte_offset() const { return offset * static_cast<std::int64_t>(c10::elementSize(dtype)); }
  bool is_float() const { return dtype == c10::kFloat; }

  // Whether elements lie in memory in the order of their indices, without gaps.
  bool is_contiguous() const {
    std::int64_t expected = 1;
    for (std::size_t d = rank(); d-- > 0;) {
      if (sizes[d] != 1 && strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }
  friend bool operator==(const Operand&, const Operand&) = default;

 private:
  std::size_t index(std::int64_t d) const {
    return static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(rank()) : d);
  }
};

inline Dims dense_strides(c10::ArrayRef<std::int64_t> sizes) {
  Dims strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

// The strides with which the operand is read when it is broadcast to these sizes: 0 where it repeats.
inline Dims broadcast_strides(const Operand& operand, c10::ArrayRef<std::int64_t> sizes) {
  Dims strides(sizes.size(), 0);
  for (std::size_t d = 0; d < operand.rank(); ++d) {
    const std::size_t to = sizes.size() - operand.rank() + d;
    strides[to] = operand.sizes[d] == 1 ? 0 : operand.strides[d];
  }
  return strides;
}

// Merges the leading dimensions of an operand into rows of equal distance, each contiguous: {rows, distance},
// or {-1, 0} if that is not possible.
inline std::pair<std::int64_t, std::int64_t> as_rows(const Operand& operand, std::size_t row_rank = 1) {
  constexpr std::pair<std::int64_t, std::int64_t> none{-1, 0};
  if (operand.rank() < row_rank) return none;
  std::int64_t length = 1;
  for (std::size_t d = operand.rank(); d-- > operand.rank() - row_rank;) {
    if (operand.sizes[d] != 1 && operand.strides[d] != length) return none;
    length *= operand.sizes[d];
  }
  std::int64_t rows = 1;
  std::int64_t distance = length;
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

}  // namespace sr::replay
