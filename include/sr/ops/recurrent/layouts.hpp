// Layouts of recurrent networks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// lstm(x, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first); gru has one
// state. LibTorch computes with the time steps first: with batch_first it transposes its result.
inline bool recurrent(LayoutRule& rule) {
  const Dims x = rule.tensor(0).sizes;
  const std::vector<TensorLayout> states = rule.tensors(1), weights = rule.tensors(2);
  if (x.size() != 3 || states.empty() || weights.empty() || weights[0].sizes.size() != 2) return false;
  const bool is_bidirectional = rule.value(7).toBool(), batch_first = rule.value(8).toBool();
  const Size &length = x[batch_first ? 1 : 0], &batch = x[batch_first ? 0 : 1];
  if (!require(x[2] == weights[0].sizes[1])) return false;
  for (const TensorLayout& state : states) {
    if (state.sizes.size() != 3 || !require(state.sizes[1] == batch)) return false;
  }
  const Size width = states[0].sizes[2] * (is_bidirectional ? 2 : 1);
  if (batch_first) {
    rule.dense_transposed({batch, length, width}, 0, 1);
  } else {
    rule.dense({length, batch, width});
  }
  for (const TensorLayout& state : states) rule.dense(state.sizes);
  return true;
}

// The rule of packed sequences: lstm(x, batch_sizes, states, weights, has_biases, layers, dropout, train,
// bidirectional); gru, rnn_tanh and rnn_relu have one state. x has a row for each time step of each sequence.
// Sizes do not depend on the values of batch_sizes.
inline bool packed_recurrent(LayoutRule& rule) {
  const Dims x = rule.tensor(0).sizes;
  const std::vector<TensorLayout> states = rule.tensors(2), weights = rule.tensors(3);
  if (x.size() != 2 || states.empty() || weights.empty() || weights[0].sizes.size() != 2) return false;
  if (!require(x[1] == weights[0].sizes[1])) return false;
  for (const TensorLayout& state : states) {
    if (state.sizes.size() != 3 || !require(state.sizes[1] == states[0].sizes[1])) return false;
  }
  rule.dense({x[0], states[0].sizes[2] * (rule.value(8).toBool() ? 2 : 1)});
  for (const TensorLayout& state : states) rule.dense(state.sizes);
  return true;
}

// gru_cell, rnn_tanh_cell and rnn_relu_cell(x, state, w_ih, w_hh, b_ih, b_hh) return the new state;
// lstm_cell(x, states, ...) returns two states. A new state has the memory order of the old state. The rule
// only covers contiguous states.
inline bool recurrent_cell(LayoutRule& rule) {
  const Dims x = rule.tensor(0).sizes;
  const std::vector<TensorLayout> states = rule.tensors(1);
  const Dims of_input = rule.tensor(2).sizes, of_state = rule.tensor(3).sizes;
  if (of_input.size() != 2 || of_state.size() != 2 || x.empty() || !require(x.back() == of_input[1]))
    return false;
  for (const std::size_t bias : {4, 5}) {
    if (rule.has_tensor(bias) && rule.tensor(bias).sizes.size() != 1) return false;
  }
  for (const TensorLayout& state : states) {
    if (state.sizes.size() != x.size() || !is_dense(state) || !require(state.sizes.back() == of_state[1]))
      return false;
    const std::size_t batches = x.size() - 1;
    if (!are_equal(c10::ArrayRef<Size>(state.sizes).slice(0, batches),
                   c10::ArrayRef<Size>(x).slice(0, batches)))
      return false;
  }
  for (const TensorLayout& state : states) rule.dense(state.sizes);
  return true;
}

}  // namespace sr::replay::layouts
