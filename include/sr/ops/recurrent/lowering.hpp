// LSTM, GRU, plain recurrent networks and their cells in fp32, also with weights that were made of integers
// of 8 or 4 bits: a product of the input for all time steps, then a step that runs the recurrence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/matmul/grouped_gemm_lowering.hpp>
#include <sr/ops/recurrent/recurrent_step.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

namespace detail {

using Cell = kernels::RecurrentCell;

constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
}

// True if sr's product by the weight is faster than LibTorch's.
inline bool is_for_kernels(const Lowering& lowering, const Operand& weight) {
  return lowering.is_constant(weight) || weight.count() <= kMostUnpacked;
}

// The weights of one layer in one direction.
struct RecurrentWeights {
  Operand of_input, of_state;  // [gates x units, features], [gates x units, units]
  std::optional<Operand> input_bias, state_bias;

  // True if the kernels can use them for this number of features.
  bool fit(Cell cell, const Size& features) const {
    if (of_input.rank() != 2 || of_state.rank() != 2) return false;
    const Size gates = of_state.size(1) * gates_of(cell);
    const auto fits = [&](const std::optional<Operand>& bias) {
      return !bias || (bias->rank() == 1 && is_bias(*bias, c10::kFloat, gates));
    };
    return all_float({&of_input, &of_state}) && of_input.size(0) == gates && of_state.size(0) == gates &&
           of_input.size(1) == features && fits(input_bias) && fits(state_bias);
  }
};

// Hidden states of a layer, or cells of LSTM: rows of `units` contiguous elements.
inline bool is_state(const Operand& state, const Size& rows, const Size& units) {
  return state.rank() == 2 && state.is_float() && state.size(0) == rows && state.size(1) == units &&
         (units == 1 || state.stride(1) == 1);
}

// One layer in one direction. Dimension 0 of `out` is time and dimension 1 the rows of the batch; a packed
// sequence has all its rows in dimension 1.
struct RecurrentLayer {
  Cell cell;
  bool runs_backwards = false;
  Operand hidden, cells;        // the first states, [rows, units]; cells of LSTM only
  Operand out;                  // [time, rows, units]
  std::optional<Operand> last;  // [rows, units]
  Operand last_cells;
  std::optional<Operand> batch_sizes;  // of a packed sequence

  // `x` is [.., .., features], with time in dimension 0 or 1. Returns false, having emitted nothing, if there
  // is no kernel for its product.
  bool emit(Lowering& lowering, const Operand& x, bool time_is_first, const RecurrentWeights& weights) const {
    const Size rows = hidden.size(0), units = hidden.size(1), width = units * gates_of(cell);
    const Operand x_gates = lowering.temporary({x.size(0), x.size(1), width});
    if (!gemm_of_rows(lowering, x, weights.of_input, weights.of_input.stride(1), weights.of_input.stride(0),
                      width, weights.input_bias, x_gates))
      return false;
    const Operand h_gates = lowering.temporary({rows, width});
    std::vector<StorageId> reads{x_gates.storage};
    const ProductSizes sizes{rows, width, units, weights.of_state.stride(1), weights.of_state.stride(0)};
    if (auto grouped = grouped_gemm_step(lowering, hidden, hidden.stride(0), weights.of_state, sizes,
                                         weights.state_bias, h_gates, width, reads)) {
      emit(lowering, std::move(*grouped), x_gates, time_is_first, h_gates, std::move(reads));
      return true;
    }
    const Matrices of_state{.a = hidden,
                            .b = weights.of_state,
                            .out = h_gates,
                            .m = rows,
                            .n = width,
                            .k = units,
                            .a_row = hidden.stride(0),
                            .out_row = width,
                            .b_k = sizes.b_k,
                            .b_n = sizes.b_n};
    auto product = gemm_step<float, float>(lowering, of_state, weights.state_bias, {}, reads);
    emit(lowering, std::move(product), x_gates, time_is_first, h_gates, std::move(reads));
    return true;
  }

 private:
  // Emits the step with the product by the recurrent weights, which writes `h_gates`. `reads` has what the
  // product and the step read of the gates.
  template <class ProductStep>
  void emit(Lowering& lowering, ProductStep of_state, const Operand& x_gates, bool time_is_first,
            const Operand& h_gates, std::vector<StorageId> reads) const {
    std::vector<StorageId> writes{out.storage, h_gates.storage};
    RecurrentStep<ProductStep> step;
    step.of_state = std::move(of_state);
    step.kernel = kernels::kernels().table.recurrent_gates[static_cast<std::size_t>(cell)];
    step.units = static_cast<std::size_t>(hidden.size(1).pin());
    step.is_lstm = cell == Cell::lstm;
    step.runs_backwards = runs_backwards;
    step.length = out.size(0);
    step.x = lowering.address(x_gates);
    step.x_step = x_gates.stride(time_is_first ? 0 : 1);
    step.x_row = x_gates.stride(time_is_first ? 1 : 0);
    step.out = lowering.address(out);
    step.out_step = out.stride(0);
    step.out_row = out.stride(1);
    step.state_row = hidden.stride(0);
    if (batch_sizes) {
      step.batch_sizes = lowering.address(*batch_sizes);
      step.length = batch_sizes->size(0);
      step.packed_rows = out.size(1);
      reads.push_back(batch_sizes->storage);
    }
    if (last) {
      step.has_last = true;
      step.last = lowering.address(*last);
      step.last_row = last->stride(0);
      writes.push_back(last->storage);
    }
    if (step.is_lstm) {
      step.cell = lowering.address(cells);
      step.cell_row = cells.stride(0);
      step.last_cell = lowering.address(last_cells);
      step.last_cell_row = last_cells.stride(0);
      reads.push_back(cells.storage);
      writes.push_back(last_cells.storage);
    }
    lowering.emit(std::move(step), std::move(reads), std::move(writes));
  }
};

// Row `i` of dimension 0.
inline Operand selected(Operand operand, std::int64_t i) {
  return last_dims(part_of_dim(std::move(operand), 0, i, 1), 1);
}

inline std::vector<Operand> operands_of(const Lowering& lowering, const c10::IValue& tensors) {
  std::vector<Operand> all;
  if (tensors.isTensor()) return {lowering.operand(tensors.toTensor())};
  for (const c10::IValue& tensor : tensors.toListRef()) all.push_back(lowering.operand(tensor.toTensor()));
  return all;
}

// What an operator on sequences is given.
struct RecurrentNetwork {
  Operand x;  // [.., .., features]; of a packed sequence [1, rows of all time steps, features]
  std::vector<Operand> states;
  std::vector<RecurrentWeights> weights;  // by layer, then by direction
  std::int64_t layers = 1, directions = 1;
  bool time_is_first = true;
  std::optional<Operand> batch_sizes;
  Size rows, units;

  Operand state(std::size_t which, std::int64_t i) const { return selected(states[which], i); }
};

// Returns a matrix with a leading dimension of size 1.
inline Operand as_one_step(Operand operand) {
  operand.sizes.insert(operand.sizes.begin(), Size(1));
  operand.strides.insert(operand.strides.begin(), operand.size(1) * operand.stride(1));
  return operand;
}

// Reads the arguments of `recurrent`. Returns nothing if kernels cannot run the network.
inline std::optional<RecurrentNetwork> read_network(const Lowering& lowering, const TracedNode& node,
                                                    Cell cell, bool is_packed) {
  const std::size_t first = is_packed ? 2 : 1;  // of the states
  const auto argument = [&](std::size_t i) -> const c10::IValue& { return node.inputs[first + i]; };
  const auto x = lowering.input(node, 0);
  RecurrentNetwork made;
  made.layers = argument(3).toInt();
  made.directions = argument(6).toBool() ? 2 : 1;
  const bool has_biases = argument(2).toBool(), drops = argument(5).toBool() && argument(4).toDouble() != 0;
  if (lowering.exact() || (drops && made.layers > 1) || !x || !x->is_float()) return std::nullopt;
  if (x->rank() != (is_packed ? 2 : 3)) return std::nullopt;
  made.x = is_packed ? as_one_step(*x) : *x;
  made.time_is_first = is_packed || !argument(7).toBool();
  if (is_packed) {
    made.batch_sizes = lowering.input(node, 1);
    if (!made.batch_sizes || made.batch_sizes->dtype != c10::kLong || made.batch_sizes->rank() != 1 ||
        !made.batch_sizes->is_contiguous() || made.batch_sizes->size(0) < 1)
      return std::nullopt;
  }
  made.states = operands_of(lowering, argument(0));
  const std::vector<Operand> given = operands_of(lowering, argument(1));
  const std::size_t each = has_biases ? 4 : 2;
  const std::int64_t cells = made.layers * made.directions;
  if (given.size() != each * static_cast<std::size_t>(cells)) return std::nullopt;
  if (made.states.size() != (cell == Cell::lstm ? 2 : 1)) return std::nullopt;
  for (const Operand& state : made.states) {
    if (state.rank() != 3 || state.size(0) != cells) return std::nullopt;
  }
  made.rows = is_packed ? made.states[0].size(1) : made.x.size(made.time_is_first ? 1 : 0);
  made.units = made.states[0].size(2);
  if (made.x.size(0) < 1 || made.x.size(1) < 1 || made.x.size(2) < 1 || made.rows < 1 || made.units < 1)
    return std::nullopt;
  for (std::int64_t i = 0; i < cells; ++i) {
    const Operand* const own = &given[static_cast<std::size_t>(i) * each];
    RecurrentWeights weights{own[0], own[1], {}, {}};
    if (has_biases) weights.input_bias = own[2], weights.state_bias = own[3];
    if (!weights.fit(cell, i < made.directions ? made.x.size(2) : made.units * made.directions) ||
        !is_for_kernels(lowering, own[0]) || !is_for_kernels(lowering, own[1]))
      return std::nullopt;
    made.weights.push_back(std::move(weights));
    for (std::size_t which = 0; which < made.states.size(); ++which) {
      if (!is_state(made.state(which, i), made.rows, made.units)) return std::nullopt;
    }
  }
  return made;
}

}  // namespace detail

// lstm.input, gru.input, rnn_tanh.input, rnn_relu.input(x, states, weights, has_biases, layers, dropout,
// train, bidirectional, batch_first), and the overloads `data` of packed sequences (x, batch_sizes, states,
// ..., bidirectional). Leaves to LibTorch: other types than fp32, projections (proj_size), dropout between
// layers in training, and empty tensors.
template <kernels::RecurrentCell kCell, bool kPacked = false>
bool recurrent(Lowering& lowering, const TracedNode& node) {
  using namespace detail;
  const auto network = read_network(lowering, node, kCell, kPacked);
  if (!network) return false;
  const Size width = network->units * network->directions;
  Operand result = lowering.output(node);
  if (kPacked) result = as_one_step(std::move(result));
  if (!network->time_is_first) {
    std::swap(result.sizes[0], result.sizes[1]);
    std::swap(result.strides[0], result.strides[1]);
  }
  if (width != 1 && result.stride(2) != 1) return false;
  // Once for both directions.
  Operand in = as_rows(network->x).first < 0 ? lowering.contiguous(network->x) : network->x;
  bool time_is_first = network->time_is_first;
  for (std::int64_t layer = 0; layer < network->layers; ++layer) {
    const Operand out =
        layer + 1 == network->layers ? result : lowering.temporary({result.size(0), result.size(1), width});
    for (std::int64_t direction = 0; direction < network->directions; ++direction) {
      const std::int64_t i = layer * network->directions + direction;
      RecurrentLayer made{.cell = kCell,
                          .runs_backwards = direction == 1,
                          .hidden = network->state(0, i),
                          .cells = {},
                          .out = out,
                          .last = selected(lowering.output(node, 1), i),
                          .last_cells = {},
                          .batch_sizes = network->batch_sizes};
      made.out = part_of_dim(out, 2, network->units * direction, network->units);
      if (kCell == Cell::lstm) {
        made.cells = network->state(1, i);
        made.last_cells = selected(lowering.output(node, 2), i);
      }
      if (!made.emit(lowering, in, time_is_first, network->weights[static_cast<std::size_t>(i)]))
        return false;
    }
    in = out;
    time_is_first = true;
  }
  return true;
}

// lstm_cell(x, states, w_ih, w_hh, b_ih, b_hh), gru_cell, rnn_tanh_cell and rnn_relu_cell(x, state, ...): a
// network of one time step. Leaves to LibTorch what `recurrent` does, and tensors without a batch.
template <kernels::RecurrentCell kCell>
bool recurrent_cell(Lowering& lowering, const TracedNode& node) {
  using namespace detail;
  const auto x = lowering.input(node, 0), of_input = lowering.input(node, 2),
             of_state = lowering.input(node, 3);
  if (lowering.exact() || !x || !of_input || !of_state || !x->is_float() || x->rank() != 2) return false;
  const RecurrentWeights weights{*of_input, *of_state, lowering.input(node, 4), lowering.input(node, 5)};
  const std::vector<Operand> states = operands_of(lowering, node.inputs[1]);
  const Size rows = x->size(0);
  if (rows < 1 || x->size(1) < 1 || !weights.fit(kCell, x->size(1)) || !is_for_kernels(lowering, *of_state))
    return false;
  const Size units = of_state->size(1);
  if (units < 1 || states.size() != (kCell == Cell::lstm ? 2 : 1)) return false;
  for (const Operand& state : states) {
    if (!is_state(state, rows, units)) return false;
  }
  const Operand out = lowering.output(node);
  if (units != 1 && out.stride(1) != 1) return false;
  RecurrentLayer made{.cell = kCell,
                      .hidden = states[0],
                      .cells = {},
                      .out = as_one_step(out),
                      .last = {},
                      .last_cells = {},
                      .batch_sizes = {}};
  if (kCell == Cell::lstm) {
    made.cells = states[1];
    made.last_cells = lowering.output(node, 1);
    if (units != 1 && made.last_cells.stride(1) != 1) return false;
  }
  return made.emit(lowering, as_one_step(*x), /*time_is_first=*/true, weights);
}

}  // namespace sr::replay::lower
