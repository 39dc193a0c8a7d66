// LSTM, GRU, plain recurrent networks and their cells. All results are new tensors.
#pragma once

#include <algorithm>
#include <optional>

#include <ATen/Functions.h>

#include <sr/base/through_autograd.hpp>
#include <sr/ops/recurrent/layouts.hpp>
#include <sr/ops/recurrent/lowering.hpp>
#include <sr/registry/dispatched.hpp>

namespace sr::ops {

namespace detail {

inline bool requires_gradient(const at::Tensor& tensor) {
  return tensor.requires_grad();
}
inline bool requires_gradient(const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->requires_grad();
}
inline bool requires_gradient(at::TensorList tensors) {
  return std::ranges::any_of(tensors, [](const at::Tensor& tensor) { return tensor.requires_grad(); });
}
template <class NoTensor>
bool requires_gradient(const NoTensor&) {
  return false;
}

// The products inside of these operators ask whether a weight requires a gradient (at::matmul, should_fold in
// ATen/native/LinearAlgebra.cpp), of a view that requires one only if autograd has made it.
template <class Op, class Signature>
struct RecurrentCall;
template <class Op, class R, class... P>
struct RecurrentCall<Op, R(P...)> {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  R operator()(P... arguments) const {
    std::optional<sr::detail::ThroughAutograd> autograd;
    if ((requires_gradient(arguments) || ...)) autograd.emplace();
    return Op::call(arguments...);
  }
};

}  // namespace detail

template <class Op, class... Parts>
using Recurrent = Native<schema_of<Op>(), detail::RecurrentCall<Op, typename Op::schema>, Parts...>;

using Cell = kernels::RecurrentCell;
template <class Op, Cell kCell>
using Sequences =
    Recurrent<Op, Lower<&replay::lower::recurrent<kCell>>, Layouts<&replay::layouts::recurrent>>;
template <class Op, Cell kCell>
using PackedSequences = Recurrent<Op, Lower<&replay::lower::recurrent<kCell, /*kPacked=*/true>>,
                                  Layouts<&replay::layouts::packed_recurrent>>;
template <class Op, Cell kCell>
using OneStep =
    Recurrent<Op, Lower<&replay::lower::recurrent_cell<kCell>>, Layouts<&replay::layouts::recurrent_cell>>;

namespace registered {

inline const Sequences<at::_ops::lstm_input, Cell::lstm> lstm_input;
inline const PackedSequences<at::_ops::lstm_data, Cell::lstm> lstm_data;
inline const OneStep<at::_ops::lstm_cell, Cell::lstm> lstm_cell;
inline const Sequences<at::_ops::gru_input, Cell::gru> gru_input;
inline const PackedSequences<at::_ops::gru_data, Cell::gru> gru_data;
inline const OneStep<at::_ops::gru_cell, Cell::gru> gru_cell;
inline const Sequences<at::_ops::rnn_tanh_input, Cell::tanh> rnn_tanh_input;
inline const PackedSequences<at::_ops::rnn_tanh_data, Cell::tanh> rnn_tanh_data;
inline const OneStep<at::_ops::rnn_tanh_cell, Cell::tanh> rnn_tanh_cell;
inline const Sequences<at::_ops::rnn_relu_input, Cell::relu> rnn_relu_input;
inline const PackedSequences<at::_ops::rnn_relu_data, Cell::relu> rnn_relu_data;
inline const OneStep<at::_ops::rnn_relu_cell, Cell::relu> rnn_relu_cell;

}  // namespace registered
}  // namespace sr::ops
