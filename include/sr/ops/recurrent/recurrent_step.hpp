// The step that runs a layer of a recurrent network in one direction over all time steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/matmul/gemm_step.hpp>
#include <sr/ops/matmul/grouped_gemm_step.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// For each time step: `of_state` multiplies the hidden state by the recurrent weights, and the kernel
// computes the new state of this product and of the gates of the input, which one product has computed for
// all time steps.
// `ProductStep` is GemmStep, or GroupedGemmStep for recurrent weights of 8 or 4 bits.
template <class ProductStep>
struct RecurrentStep final : ClonableStep<RecurrentStep<ProductStep>> {
  using Kernel = void (*)(const kernels::RecurrentGates& gates);
  using Product = typename ProductStep::Product;

  ProductStep of_state;  // `a` is the first hidden state, `out` scratch
  Kernel kernel = nullptr;
  std::size_t units = 0;
  bool is_lstm = false, runs_backwards = false;
  Size length, x_step, x_row, out_step, out_row;  // elements between time steps, and between rows
  Size state_row, last_row, cell_row, last_cell_row;
  Address x, out, cell, last, last_cell;  // cell, last_cell: of LSTM only
  bool has_last = false;                  // the last hidden state is a result, too
  // Set for packed sequences: the number of rows of each time step, which does not increase. Time steps then
  // follow each other without gaps, `x_step` and `out_step` mean nothing, and the data may contradict the
  // sizes.
  std::optional<Address> batch_sizes;
  Size packed_rows;

  std::string_view name() const override { return "recurrent layer"; }
  void pack_weights(PackedWeights& shared) override { of_state.pack_weights(shared); }
  const void* packed_from() const override { return of_state.packed_from(); }
  Shares* shared_work() override { return of_state.shared_work(); }
  bool may_fail() const override { return batch_sizes.has_value(); }
  bool has_small_weights() const override { return of_state.has_small_weights(); }

  RunStep settle(SizeValues& values) override {
    of_state.settle(values);
    steps = values(length);
    shape.rows = of_state.shape.m;
    shape.units = units;
    shape.x_row = values(x_row);
    shape.h_row = of_state.shape.out_row;
    shape.out_row = values(out_row);
    shape.cell_row = values(last_cell_row);
    x_distance = values(x_step);
    out_distance = values(out_step);
    first_row = values(state_row);
    first_cell_row = values(cell_row);
    last_distance = values(last_row);
    if (batch_sizes) rows_of_all = values(packed_rows);
    return batch_sizes ? &run_packed : &run;
  }

  static void run(const Payload& payload, Context& context) {
    static_cast<const RecurrentStep&>(payload).run_on(context.bases);
  }
  // Throws Deoptimized if the batch sizes are not those of a packed sequence of so many rows.
  static void run_packed(const Payload& payload, Context& context) {
    static_cast<const RecurrentStep&>(payload).run_packed_on(context.bases);
  }

 private:
  void run_on(std::byte* const* bases) const {
    Product product = of_state.bound(bases);
    kernels::RecurrentGates gates = shape;
    const float* const x_first = x.in<const float>(bases);
    float* const out_first = out.in<float>(bases);
    product.a_row = first_row;
    gates.h = product.out;
    gates.state = is_lstm ? cell.in<const float>(bases) : product.a;
    gates.state_row = is_lstm ? first_cell_row : first_row;
    if (is_lstm) gates.cell = last_cell.in<float>(bases);
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t t = runs_backwards ? steps - 1 - i : i;
      of_state.multiply_all(product);
      gates.x = x_first + t * x_distance;
      gates.out = out_first + t * out_distance;
      kernel(gates);
      product.a = gates.out;
      product.a_row = shape.out_row;
      gates.state = is_lstm ? gates.cell : gates.out;
      gates.state_row = is_lstm ? shape.cell_row : shape.out_row;
    }
    if (has_last) copy_rows(gates.out, shape.out_row, last.in<float>(bases), last_distance, shape.rows);
  }

  // Keeps the hidden states and cells in the results `last` and `last_cell`. A row whose sequence has ended,
  // or has not begun yet when the network runs backwards, keeps its state.
  void run_packed_on(std::byte* const* bases) const {
    const auto* const sizes = batch_sizes->in<const std::int64_t>(bases);
    check_sizes(sizes);
    Product product = of_state.bound(bases);
    kernels::RecurrentGates gates = shape;
    float* const states = last.in<float>(bases);
    copy_rows(product.a, first_row, states, last_distance, shape.rows);
    if (is_lstm) {
      gates.cell = last_cell.in<float>(bases);
      copy_rows(cell.in<const float>(bases), first_cell_row, gates.cell, shape.cell_row, shape.rows);
    }
    product.a = states;
    product.a_row = last_distance;
    gates.h = product.out;
    gates.state = is_lstm ? gates.cell : states;
    gates.state_row = is_lstm ? shape.cell_row : last_distance;
    std::int64_t row = runs_backwards ? rows_of_all : 0;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t size = sizes[runs_backwards ? steps - 1 - i : i];
      if (runs_backwards) row -= size;
      product.m = gates.rows = static_cast<std::size_t>(size);
      if (product.m == shape.rows) {
        of_state.multiply_all(product);
      } else {
        of_state.multiply(product);
      }
      gates.x = x.in<const float>(bases) + row * shape.x_row;
      gates.out = out.in<float>(bases) + row * shape.out_row;
      kernel(gates);
      copy_rows(gates.out, shape.out_row, states, last_distance, gates.rows);
      if (!runs_backwards) row += size;
    }
  }

  void check_sizes(const std::int64_t* sizes) const {
    std::int64_t total = 0, before = static_cast<std::int64_t>(shape.rows);
    bool is_right = sizes[0] == before;
    for (std::int64_t t = 0; t < steps; ++t) {
      is_right &= 0 < sizes[t] && sizes[t] <= before;
      before = sizes[t];
      total += sizes[t];
    }
    if (!is_right || total != rows_of_all)
      throw Deoptimized("The batch sizes of a packed sequence do not fit its data.",
                        Deoptimized::Program::kept);
  }

  void copy_rows(const float* from, std::int64_t from_row, float* to, std::int64_t to_row,
                 std::size_t rows) const {
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(rows); ++row)
      std::memcpy(to + row * to_row, from + row * from_row, units * sizeof(float));
  }

  // In this call:
  std::int64_t steps = 0, x_distance = 0, out_distance = 0, first_row = 0, first_cell_row = 0,
               last_distance = 0, rows_of_all = 0;
  kernels::RecurrentGates shape;
};

}  // namespace sr::replay
