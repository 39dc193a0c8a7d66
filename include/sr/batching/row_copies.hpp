// Copies rows between the tensor of a batch and the tensors of its requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/Functions.h>
#include <c10/util/SmallVector.h>

#include <sr/base/extent.hpp>
#include <sr/base/identity.hpp>
#include <sr/replay/steps/fresh_tensor.hpp>

namespace sr::detail {

// Copies rows between contiguous tensors that have equal dtypes and equal sizes except in dimension `dim`. In
// memory, a tensor consists of one block for each index of the dimensions before `dim`. Each block contains a
// part of every row.
class RowCopies {
 public:
  RowCopies(const at::Tensor& like, std::int64_t dim) : row_bytes_(like.element_size()) {
    const at::IntArrayRef sizes = like.sizes();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (d < static_cast<std::size_t>(dim)) blocks_ *= static_cast<std::size_t>(sizes[d]);
      if (d > static_cast<std::size_t>(dim)) row_bytes_ *= static_cast<std::size_t>(sizes[d]);
    }
    if (row_bytes_ == 0) blocks_ = 0;
  }

  // Copies `count` rows from row `from_first` on of a tensor with `from_rows` rows.
  void operator()(void* to, std::int64_t to_rows, std::int64_t to_first, const void* from,
                  std::int64_t from_rows, std::int64_t from_first, std::int64_t count) const {
    auto* into = static_cast<std::byte*>(to) + bytes(to_first);
    const auto* out_of = static_cast<const std::byte*>(from) + bytes(from_first);
    if (count == 0) return;
    for (std::size_t b = 0; b < blocks_; ++b, into += bytes(to_rows), out_of += bytes(from_rows))
      std::memcpy(into, out_of, bytes(count));
  }

 private:
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(rows) * row_bytes_; }

  std::size_t blocks_ = 1, row_bytes_;
};

inline bool is_contiguous_memory(const at::Tensor& tensor) {
  return tensor.is_contiguous() && can_be_copied_as_bytes(tensor);
}

// Allocates a contiguous tensor with the dtype and the sizes of `like`, and `rows` rows.
inline at::Tensor empty_rows(const at::Tensor& like, std::int64_t dim, std::int64_t rows) {
  c10::SmallVector<std::int64_t, 6> sizes(like.sizes().begin(), like.sizes().end());
  sizes[static_cast<std::size_t>(dim)] = rows;
  c10::SmallVector<std::int64_t, 6> strides(sizes.size());
  std::int64_t count = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = count;
    count *= std::max<std::int64_t>(sizes[d], 1);
  }
  const std::size_t bytes = extent_of(sizes, strides) * like.element_size();
  return replay::tensor_on(c10::Storage(replay::fresh_storage(bytes)), like.scalar_type(), sizes, strides, 0);
}

// Concatenates the rows of `count` parts into a contiguous tensor with `rows` rows. If the parts have fewer
// rows, fills the rest with copies of the first row. `part(i)` returns part i. All parts have equal dtypes
// and equal sizes except in dimension `dim`.
template <class PartAt>
at::Tensor join_rows(std::size_t count, const PartAt& part, std::int64_t dim, std::int64_t rows) {
  const at::Tensor& like = part(0);
  if (like.is_quantized()) {  // the parts may have different scales
    std::vector<at::Tensor> parts;
    std::int64_t left = rows;
    for (std::size_t i = 0; i < count; ++i) left -= parts.emplace_back(part(i)).size(dim);
    for (std::size_t i = 0; left > 0; i = (i + 1) % count) {
      if (parts[i].size(dim) == 0) continue;
      parts.insert(parts.end(), static_cast<std::size_t>(left), parts[i].narrow(dim, 0, 1));
      left = 0;
    }
    return at::cat(parts, dim);
  }
  at::Tensor all = empty_rows(like, dim, rows);
  void* const to = all.mutable_data_ptr();
  const RowCopies copy(like, dim);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const at::Tensor& given = part(i);
    const std::int64_t own = given.sizes()[static_cast<std::size_t>(dim)];
    const bool is_plain = is_contiguous_memory(given);
    const at::Tensor made = is_plain ? at::Tensor() : given.resolve_conj().resolve_neg().contiguous();
    copy(to, rows, next, (is_plain ? given : made).const_data_ptr(), own, 0, own);
    next += own;
  }
  for (; next < rows; ++next) copy(to, rows, next, to, rows, 0, 1);
  return all;
}

// Returns a contiguous copy of `count` rows, beginning with row `first`.
inline at::Tensor take_rows(const at::Tensor& all, std::int64_t dim, std::int64_t first, std::int64_t count) {
  if (!is_contiguous_memory(all)) return all.narrow(dim, first, count).clone(at::MemoryFormat::Contiguous);
  at::Tensor part = empty_rows(all, dim, count);
  RowCopies(all, dim)(part.mutable_data_ptr(), count, 0, all.const_data_ptr(), all.size(dim), first, count);
  return part;
}

}  // namespace sr::detail
