// Steps that multiply matrices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <c10/util/SmallVector.h>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/matmul/product_sizes.hpp>
#include <sr/replay/sizes/batches.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// T is the type of weights, fp32, bfloat16, float16 or int8, and Result that of results, fp32 or T. The left
// side and the bias are fp32.
template <class T, class Result = float>
struct GemmStepOf final : ClonableStep<GemmStepOf<T, Result>> {
  using Product = kernels::GemmOf<T, Result>;
  using Batch = std::array<std::int64_t, 3>;  // of a, b and out: elements from their addresses
  Size m, n, k, a_row, out_row, b_k, b_n;     // see kernels::GemmOf
  Batches<3> batches_of;
  void (*multiply)(const Product& product) = nullptr;
  Address a, b, bias, out;
  bool has_bias = false;
  WeightMatrixOf<T> weight;                  // without data: b is read as it is
  std::shared_ptr<const Aligned<T>> packed;  // `weight`; then `b` means nothing
  // In this call, but for `shape.clamp_min`:
  Product shape;
  // What freeze() keeps: `shape` with the addresses of a call. A product with one column becomes dots.
  Product frozen;
  kernels::BatchedDot frozen_dots;
  kernels::BatchedDotKernel multiply_dots = nullptr;
  c10::SmallVector<Batch, 1> batches;
  Shares shares;          // of what `cut` says
  std::int64_t part = 0;  // rows or columns of one
  bool by_columns = false;

  std::string_view name() const override { return weight.data != nullptr ? "packed gemm" : "gemm"; }
  bool has_small_weights() const override { return std::is_same_v<T, std::int8_t>; }
  // The number of results.
  Size results() const { return m * n * batches_of.count(); }

  std::size_t vector_bytes() const { return bytes_of(batches); }

  void pack_weights(PackedWeights& shared) override {
    if (weight.data != nullptr) packed = shared.find_or_pack(weight);
  }
  const void* packed_from() const override { return weight.data; }

  Shares* shared_work() override { return &shares; }

  RunStep settle(SizeValues& values) override {
    settle_product(*this, values);
    shape.b_k = values(b_k);
    shape.b_n = values(b_n);
    batches.clear();
    batches_of.each(values, [&](const Batch& batch) { batches.push_back(batch); });
    cut();
    return runner();
  }

  RunStep freeze(std::byte* const* bases) override {
    if (runner() != &run_one) return nullptr;
    frozen = bound(bases);
    if constexpr (std::is_same_v<T, float>) {
      if (frozen.n == 1 && packed != nullptr) {
        frozen_dots = {.count = frozen.m,
                       .k = frozen.k,
                       .a = frozen.a,
                       .a_row = frozen.a_row,
                       .b = frozen.b,
                       .bias = frozen.bias,
                       .clamp_min = frozen.clamp_min,
                       .out = frozen.out,
                       .out_stride = frozen.out_row};
        multiply_dots = kernels::kernels().table.batched_dot(frozen.m, frozen.k);
        return [](const Payload& payload, Context&) {
          const auto& self = static_cast<const GemmStepOf&>(payload);
          self.multiply_dots(self.frozen_dots);
        };
      }
    }
    return [](const Payload& payload, Context&) {
      const auto& self = static_cast<const GemmStepOf&>(payload);
      self.multiply(self.frozen);
    };
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const GemmStepOf&>(payload);
    self.multiply_all(self.bound(context.bases));
  }

  // The shape with the addresses of a call, without the offsets of a batch.
  Product bound(std::byte* const* bases) const {
    Product product = shape;
    product.a = a.template in<const float>(bases);
    product.b = packed != nullptr ? packed->data : b.template in<const T>(bases);
    product.out = out.template in<Result>(bases);
    if (has_bias) product.bias = bias.template in<const float>(bases);
    return product;
  }

  // Multiplies all batches, on several threads if they are large. `product` is what bound() returns, also
  // with other addresses and distances of rows.
  void multiply_all(const Product& product) const {
    if (part == 0) {
      for (const Batch& batch : batches) multiply(at(product, batch));
      return;
    }
    const std::int64_t parts = shares.count() / static_cast<std::int64_t>(batches.size());
    shares.each([&](std::int64_t first, std::int64_t end) {
      while (first != end) {
        const std::int64_t batch = first / parts, stop = std::min(end, (batch + 1) * parts);
        multiply_part(at(product, batches[static_cast<std::size_t>(batch)]), parts, first - batch * parts,
                      stop - batch * parts);
        first = stop;
      }
    });
  }

  // Cuts the products, if they are too large for one thread, into parts, whose results are bit-identical to
  // those of the whole. Packed columns are cut at the beginning of panels; the last part has the rest, so
  // that it never consists of the few columns that are not packed as panels. Rows are cut at the beginning of
  // tiles or of sums of four. Without packed weights the parts have so many rows that kernels treat each as
  // the whole, and are few, since each may pack the columns for itself.
  void cut() {
    const auto rows = static_cast<std::int64_t>(shape.m), columns = static_cast<std::int64_t>(shape.n);
    const auto products = static_cast<std::int64_t>(batches.size());
    std::int64_t count = 1;  // of a product
    part = rows;
    by_columns = false;
    if (weight.data != nullptr) {
      const kernels::Table& table = kernels::kernels().table;
      const std::int64_t panel = 2 * static_cast<std::int64_t>(table.width);
      const std::int64_t tile = columns == 1 ? 4 : static_cast<std::int64_t>(table.tile);
      // The last part has the rest of the rows, too: kernels may treat a single row otherwise.
      const std::int64_t panels = columns / panel, tiles = std::max<std::int64_t>(rows / tile, 1);
      by_columns = panels >= kLeastParts || panels >= tiles;
      part = by_columns ? panel : tile;
      count = by_columns ? panels : tiles;
    } else if (rows >= 2 * kUnpackedRows) {
      const std::int64_t share = rows / (4 * intra_op_threads());
      part = std::max(share / kUnpackedRows, std::int64_t{1}) * kUnpackedRows;
      count = rows / part;
    }
    const double elements = static_cast<double>(products * rows) * static_cast<double>(columns);
    const bool is_large = elements * static_cast<double>(shape.k) >= static_cast<double>(kLeastShared);
    const bool is_cut = is_large && products * count > 1;
    if (!is_cut) part = 0;
    shares.set(is_cut ? products * count : 0, elements);
  }

 private:
  static constexpr std::int64_t kLeastParts = 8;  // so that threads get about the same
  // Tiles of every set of kernels fit, and kernels::gemm has no threshold above.
  static constexpr std::int64_t kUnpackedRows = 24;

  // The function for the complete step; a simpler one for a single product that is not cut.
  RunStep runner() const {
    return batches.size() == 1 && batches[0] == Batch{} && part == 0 ? &run_one : &run;
  }

  static void run_one(const Payload& payload, Context& context) {
    const auto& self = static_cast<const GemmStepOf&>(payload);
    self.multiply(self.bound(context.bases));
  }

  static Product at(Product product, const Batch& batch) {
    product.a += batch[0];
    product.b += batch[1];
    product.out += batch[2];
    return product;
  }

  // Computes parts `first` to `end` - 1 of the `parts` of one product.
  void multiply_part(Product product, std::int64_t parts, std::int64_t first, std::int64_t end) const {
    const bool is_last = end == parts;
    first *= part;
    const auto size = [&](std::size_t all) {
      return (is_last ? all : static_cast<std::size_t>(end * part)) - static_cast<std::size_t>(first);
    };
    if (by_columns) {
      product.n = size(shape.n);
      product.continues = !is_last;
      product.b += first * static_cast<std::int64_t>(shape.k);
      if (product.bias != nullptr) product.bias += first;
      product.out += first;
    } else {
      product.m = size(shape.m);
      product.a += first * product.a_row;
      product.out += first * product.out_row;
    }
    multiply(product);
  }
};
using GemmStep = GemmStepOf<float>;
template <class T>
using RoundingGemmStep = GemmStepOf<T, T>;  // of 16-bit weights
using Int8WeightGemmStep = GemmStepOf<std::int8_t>;

struct BatchedDotStep final : ClonableStep<BatchedDotStep> {
  std::string_view name() const override { return "batched dot"; }
  Size count, k, a_row, b_row, out_stride;  // see kernels::BatchedDot
  kernels::BatchedDot shape;                // in this call
  kernels::BatchedDot frozen;               // what freeze() keeps: `shape` with the addresses of a call
  kernels::BatchedDotKernel multiply = nullptr;
  Address a, b, out;

  RunStep settle(SizeValues& values) override {
    shape.count = values.count(count);
    shape.k = values.count(k);
    multiply = kernels::kernels().table.batched_dot(shape.count, shape.k);
    shape.a_row = values(a_row);
    shape.b_row = values(b_row);
    shape.out_stride = values(out_stride);
    return nullptr;
  }

  RunStep freeze(std::byte* const* bases) override {
    frozen = bound(bases);
    return [](const Payload& payload, Context&) {
      const auto& self = static_cast<const BatchedDotStep&>(payload);
      self.multiply(self.frozen);
    };
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const BatchedDotStep&>(payload);
    self.multiply(self.bound(context.bases));
  }

 private:
  kernels::BatchedDot bound(std::byte* const* bases) const {
    kernels::BatchedDot dots = shape;
    dots.a = a.in<const float>(bases);
    dots.b = b.in<const float>(bases);
    dots.out = out.in<float>(bases);
    return dots;
  }
};

}  // namespace sr::replay
