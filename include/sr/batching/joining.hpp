// From the arguments of several requests to those of one call, and from its results back to theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/batching/options_for.hpp>
#include <sr/batching/request.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/normal_rows.hpp>

namespace sr::detail {

using Batch = std::vector<Request*>;  // all with equal signatures; at least one

// Kernels add up the elements of a complete tile of rows in one order, and those of the rows that are left in
// others. A multiple of the tiles of products and of those of norms leaves none.
inline std::int64_t rows_together() {
  return static_cast<std::int64_t>(std::lcm(kernels::kernels().table.tile, kernels::kNormalRows));
}

class BatchJoin {
 public:
  BatchJoin(const BatcherOptions& options, const Batch& batch) : options_(options), batch_(batch) {
    for (const Request* request : batch) {
      rows_ += request->rows;
      length_ = std::max(length_, request->length);
    }
    const std::int64_t unit = options.equal_rows ? rows_together() : 1;
    filled_rows_ = (rows_ + unit - 1) / unit * unit;
  }

  std::int64_t filled_rows() const { return filled_rows_; }
  std::int64_t length() const { return length_; }

  std::vector<c10::IValue> arguments() const {
    std::vector<c10::IValue> joined;
    for (std::size_t i = 0; i < batch_[0]->args.size(); ++i) {
      const c10::IValue& first = batch_[0]->args[i];
      const bool has_rows = first.isTensor() && first.toTensor().defined() && !is_shared(options_, i);
      joined.push_back(has_rows ? c10::IValue(join(i)) : first);
    }
    return joined;
  }

  // The results of each request, in order. Throws UnsupportedOpError if the result cannot be divided.
  std::vector<c10::IValue> divide(const c10::IValue& result) const {
    check(result);
    std::vector<c10::IValue> divided;
    std::int64_t first = 0;
    for (const Request* request : batch_) {
      divided.push_back(with_tensors(result, [&](const at::Tensor& tensor) {
        return part_of(tensor, first, request->rows, request->length);
      }));
      first += request->rows;
    }
    return divided;
  }

 private:
  std::int64_t dim() const { return options_.dim; }

  at::Tensor join(std::size_t position) const {
    std::vector<at::Tensor> parts;
    for (const Request* request : batch_)
      parts.push_back(padded(position, request->args[position].toTensor()));
    const bool are_blocks = dim() == 0 && std::ranges::all_of(parts, [](const at::Tensor& part) {
                              return part.is_contiguous() && !part.is_neg() && !part.is_conj();
                            });
    if (!are_blocks) {
      if (filled_rows_ != rows_) {
        const at::Tensor row = first_row(parts);
        for (std::int64_t row_index = rows_; row_index < filled_rows_; ++row_index) parts.push_back(row);
      }
      return at::cat(parts, dim());
    }
    std::vector<std::int64_t> sizes = parts[0].sizes().vec();
    sizes[0] = filled_rows_;
    at::Tensor joined = at::empty(sizes, parts[0].options());
    auto* to = static_cast<std::byte*>(joined.mutable_data_ptr());
    for (const at::Tensor& part : parts) {
      if (part.nbytes() != 0) std::memcpy(to, part.const_data_ptr(), part.nbytes());
      to += part.nbytes();
    }
    if (filled_rows_ != rows_) {
      const auto* const row = static_cast<const std::byte*>(joined.const_data_ptr());
      const std::size_t bytes = joined.nbytes() / static_cast<std::size_t>(filled_rows_);
      for (std::int64_t i = rows_; i < filled_rows_ && bytes != 0; ++i, to += bytes)
        std::memcpy(to, row, bytes);
    }
    return joined;
  }

  at::Tensor first_row(const std::vector<at::Tensor>& parts) const {
    const auto part =
        std::ranges::find_if(parts, [&](const at::Tensor& one) { return one.size(dim()) != 0; });
    return part->narrow(dim(), 0, 1);
  }

  at::Tensor padded(std::size_t position, const at::Tensor& tensor) const {
    at::Tensor made = tensor;
    for (const Padding& padding : options_.padding) {
      if (padding.argument != position) continue;
      std::int64_t longest = 0;
      for (const Request* request : batch_)
        longest = std::max(longest, request->args[position].toTensor().size(padding.dim));
      if (made.size(padding.dim) == longest) continue;
      std::vector<std::int64_t> sizes = made.sizes().vec();
      sizes[static_cast<std::size_t>(padding.dim)] = longest;
      at::Tensor filled = at::full(sizes, padding.value, made.options());
      filled.narrow(padding.dim, 0, made.size(padding.dim)).copy_(made);
      made = filled;
    }
    return made;
  }

  void check(const c10::IValue& result) const {
    if (result.isInt() || result.isDouble() || result.isBool()) {
      throw UnsupportedOpError(
          "A result of the model is a number, which cannot be divided among the requests of a "
          "batch. Return a tensor with a row for each row of the arguments.");
    }
    if (result.isTuple()) {
      for (const c10::IValue& element : result.toTupleRef().elements()) check(element);
    }
    each_tensor(result, [&](const at::Tensor& tensor) {
      if (dim() < tensor.dim() && tensor.size(dim()) == filled_rows_) return;
      throw UnsupportedOpError(
          "A result of the model has the sizes " + c10::str(tensor.sizes()) + " for a batch of " +
          std::to_string(filled_rows_) +
          " rows: it cannot be divided among the requests. Rows of results must lie along "
          "dimension " +
          std::to_string(dim()) + " (BatcherOptions::dim).");
    });
  }

  // A tensor of the request's own.
  at::Tensor part_of(const at::Tensor& tensor, std::int64_t first, std::int64_t rows,
                     std::int64_t length) const {
    const std::int64_t cut = options_.padded_result_dim;
    const bool is_cut = cut >= 0 && cut < tensor.dim() && tensor.size(cut) == length_;
    if (dim() == 0 && !is_cut && tensor.is_contiguous() && tensor.nbytes() != 0) {
      std::vector<std::int64_t> sizes = tensor.sizes().vec();
      sizes[0] = rows;
      at::Tensor part = at::empty(sizes, tensor.options());
      const std::size_t row = tensor.nbytes() / static_cast<std::size_t>(tensor.size(0));
      const auto* const from = static_cast<const std::byte*>(tensor.const_data_ptr());
      if (rows != 0)
        std::memcpy(part.mutable_data_ptr(), from + static_cast<std::size_t>(first) * row,
                    static_cast<std::size_t>(rows) * row);
      return part;
    }
    at::Tensor part = tensor.narrow(dim(), first, rows);
    if (is_cut) part = part.narrow(cut, 0, length);
    return part.clone(at::MemoryFormat::Contiguous);
  }

  const BatcherOptions& options_;
  const Batch& batch_;
  std::int64_t rows_ = 0, filled_rows_ = 0, length_ = 0;
};

}  // namespace sr::detail
