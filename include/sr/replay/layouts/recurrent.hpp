// Layouts of recurrent networks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sr/replay/layouts/pointwise.hpp>

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

}  // namespace sr::replay::layouts
