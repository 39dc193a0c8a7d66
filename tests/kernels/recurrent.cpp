// The pointwise part of recurrent networks, with the kernels of every instruction set of this CPU, against
// formulas in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

constexpr std::array kCells{RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::tanh,
                            RecurrentCell::relu};

constexpr std::size_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// The new hidden state of one unit, and for LSTM the new cell in `state`. x and h: its gates.
double next(RecurrentCell cell, const std::array<double, 4>& x, const std::array<double, 4>& h,
            double& state) {
  switch (cell) {
    case RecurrentCell::lstm:
      state = logistic(x[1] + h[1]) * state + logistic(x[0] + h[0]) * std::tanh(x[2] + h[2]);
      return logistic(x[3] + h[3]) * std::tanh(state);
    case RecurrentCell::gru: {
      const double fresh = std::tanh(x[2] + logistic(x[0] + h[0]) * h[2]);
      return fresh + logistic(x[1] + h[1]) * (state - fresh);
    }
    case RecurrentCell::tanh:
      return std::tanh(x[0] + h[0]);
    case RecurrentCell::relu:
      return std::max(x[0] + h[0], 0.0);
  }
  return 0;
}

// Rows of gates, states and results, with elements between them that nothing may write.
struct Rows {
  Rows(std::size_t row_count, std::size_t columns, float range)
      : stride(columns + 3), values(row_count * stride) {
    for (float& value : values) value = uniform(-range, range);
  }
  std::size_t stride;
  std::vector<float> values;
};

// Sums of gates are rounded as floats of their range are.
bool is_near(double expected, float found, float range) {
  if (expected == found) return true;  // infinities
  if (std::isnan(expected)) return std::isnan(found);
  return std::fabs(expected - found) <= 2e-7 * (1 + range) * (1 + std::fabs(expected));
}

}  // namespace

TEST_CASE("kernels: gates of recurrent networks", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const RecurrentCell cell : kCells) {
      for (const std::size_t units : {1, 3, 4, 7, 8, 15, 16, 17, 40}) {
        constexpr std::size_t kRows = 3;
        const std::size_t gates = gates_of(cell);
        const bool is_lstm = cell == RecurrentCell::lstm;
        for (const float range : {1.0f, 30.0f}) {  // the second saturates
          Rows x(kRows, gates * units, range), h(kRows, gates * units, range), state(kRows, units, 1);
          x.values[units / 2] = kNaN;
          h.values[h.stride] = kInf;
          Rows out(kRows, units, 1), new_cells(kRows, units, 1);
          const std::vector<float> out_before = out.values, cells_before = new_cells.values;
          // In place as a layer does from its second time step on.
          Rows cells = is_lstm && units % 2 == 0 ? state : new_cells;
          const bool in_place = is_lstm && units % 2 == 0;
          const float* const old = in_place ? cells.values.data() : state.values.data();
          set->table.recurrent_gates[static_cast<std::size_t>(cell)](
              {.rows = kRows,
               .units = units,
               .x = x.values.data(),
               .x_row = signed_size(x.stride),
               .h = h.values.data(),
               .h_row = signed_size(h.stride),
               .state = old,
               .state_row = signed_size(state.stride),
               .cell = is_lstm ? cells.values.data() : nullptr,
               .cell_row = signed_size(cells.stride),
               .out = out.values.data(),
               .out_row = signed_size(out.stride)});
          std::size_t wrong = 0;
          for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t j = 0; j < out.stride; ++j) {
              const std::size_t at = r * out.stride + j;
              if (j >= units) {
                wrong += out.values[at] == out_before[at] ? 0 : 1;
                wrong += in_place || cells.values[at] == cells_before[at] ? 0 : 1;
                continue;
              }
              std::array<double, 4> of_x{}, of_h{};
              for (std::size_t g = 0; g < gates; ++g) {
                of_x[g] = x.values[r * x.stride + g * units + j];
                of_h[g] = h.values[r * h.stride + g * units + j];
              }
              double new_state = state.values[at];
              const double expected = next(cell, of_x, of_h, new_state);
              wrong += is_near(expected, out.values[at], range) ? 0 : 1;
              if (is_lstm) wrong += is_near(new_state, cells.values[at], range) ? 0 : 1;
            }
          }
          CAPTURE(set->table.name, static_cast<int>(cell), units, range);
          CHECK(wrong == 0);
        }
      }
    }
  }
}
