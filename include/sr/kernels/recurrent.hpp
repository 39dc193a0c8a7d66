// The pointwise part of a step of LSTM, GRU and plain recurrent networks, behind the two products.
#pragma once

#include <cstddef>

#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Calls body(j, part, x, h, row) for each register of units of each row; x and h are the gates of the row.
template <class Body>
SR_KERNEL_INLINE void each_unit(const RecurrentGates& gates, Body body) {
  for (std::size_t r = 0; r < gates.rows; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    const float* const x = gates.x + row * gates.x_row;
    const float* const h = gates.h + row * gates.h_row;
    over_row(
        gates.units, [&](std::size_t j, auto part)
                         __attribute__((always_inline)) { body(j, part, x + j, h + j, row); });
  }
}

// c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'). Hochreiter and Schmidhuber, "Long
// short-term memory", 1997, with the forget gate of Gers and others, 1999.
[[gnu::flatten]] inline void lstm_gates(const RecurrentGates& gates) {
  const std::size_t units = gates.units;
  each_unit(gates, [&](std::size_t j, auto part, const float* x, const float* h, std::ptrdiff_t row) {
    const auto gate = [&](std::size_t g) { return part.load(x + g * units) + part.load(h + g * units); };
    const Vec input = sigmoid(gate(0)) * tanh(gate(2));
    const Vec cell = fma(sigmoid(gate(1)), part.load(gates.state + row * gates.state_row + j), input);
    part.store(cell, gates.cell + row * gates.cell_row + j);
    part.store(sigmoid(gate(3)) * tanh(cell), gates.out + row * gates.out_row + j);
  });
}

// n' = tanh(n_x + sigmoid(r) n_h); h' = n' + sigmoid(z) (h - n'). Cho and others, "Learning phrase
// representations using RNN encoder-decoder", 2014, with the reset gate behind the product, as PyTorch has
// it.
[[gnu::flatten]] inline void gru_gates(const RecurrentGates& gates) {
  const std::size_t units = gates.units;
  each_unit(gates, [&](std::size_t j, auto part, const float* x, const float* h, std::ptrdiff_t row) {
    const auto gate = [&](std::size_t g) { return part.load(x + g * units) + part.load(h + g * units); };
    const Vec reset = sigmoid(gate(0));
    const Vec fresh = tanh(fma(reset, part.load(h + 2 * units), part.load(x + 2 * units)));
    const Vec state = part.load(gates.state + row * gates.state_row + j);
    part.store(fma(sigmoid(gate(1)), state - fresh, fresh), gates.out + row * gates.out_row + j);
  });
}

// h' = activate(x + h)
template <class Activate>
SR_KERNEL_INLINE void plain_gates(const RecurrentGates& gates, Activate activate) {
  each_unit(gates, [&](std::size_t j, auto part, const float* x, const float* h, std::ptrdiff_t row) {
    part.store(activate(part.load(x) + part.load(h)), gates.out + row * gates.out_row + j);
  });
}
[[gnu::flatten]] inline void tanh_gates(const RecurrentGates& gates) {
  plain_gates(gates, [](Vec x) { return tanh(x); });
}
[[gnu::flatten]] inline void relu_gates(const RecurrentGates& gates) {
  plain_gates(gates, [](Vec x) { return first_max(Vec(0.0f), x); });  // NaN passes
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
