// From the arguments of several requests to those of one call, and from its results back to theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/batching/options_for.hpp>
#include <sr/batching/request.hpp>
#include <sr/batching/row_copies.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/normal_rows.hpp>

namespace sr::detail {

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
    // Once for all requests, where it has to be copied for that.
    const c10::IValue whole =
        with_tensors(result, [](const at::Tensor& tensor) { return tensor.contiguous(); });
    std::vector<c10::IValue> divided;
    divided.reserve(batch_.size());
    std::int64_t first = 0;
    for (const Request* request : batch_) {
      divided.push_back(with_tensors(whole, [&](const at::Tensor& tensor) {
        return part_of(tensor, first, request->rows, request->length);
      }));
      first += request->rows;
    }
    return divided;
  }

 private:
  std::int64_t dim() const { return options_.dim; }

  at::Tensor join(std::size_t position) const {
    const auto part = [&](std::size_t i) -> const at::Tensor& {
      return batch_[i]->args[position].toTensor();
    };
    if (std::ranges::find(options_.padding, position, &Padding::argument) == options_.padding.end())
      return join_rows(batch_.size(), part, dim(), filled_rows_);
    return join_rows(
        batch_.size(), [&](std::size_t i) { return padded(position, part(i)); }, dim(), filled_rows_);
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
    if (!is_cut) return take_rows(tensor, dim(), first, rows);
    return tensor.narrow(dim(), first, rows).narrow(cut, 0, length).clone(at::MemoryFormat::Contiguous);
  }

  const BatcherOptions& options_;
  const Batch& batch_;
  std::int64_t rows_ = 0, filled_rows_ = 0, length_ = 0;
};

}  // namespace sr::detail
