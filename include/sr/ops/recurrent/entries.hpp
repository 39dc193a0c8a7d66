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

namespace registered {

using Cell = kernels::RecurrentCell;

inline const Recurrent<at::_ops::lstm_input, Lower<&replay::lower::recurrent<Cell::lstm>>,
                       Layouts<&replay::layouts::recurrent>>
    lstm_input;
inline const Recurrent<at::_ops::lstm_data, Lower<&replay::lower::recurrent<Cell::lstm, true>>,
                       Layouts<&replay::layouts::packed_recurrent>>
    lstm_data;
inline const Recurrent<at::_ops::gru_input, Lower<&replay::lower::recurrent<Cell::gru>>,
                       Layouts<&replay::layouts::recurrent>>
    gru_input;
inline const Recurrent<at::_ops::gru_data, Lower<&replay::lower::recurrent<Cell::gru, true>>,
                       Layouts<&replay::layouts::packed_recurrent>>
    gru_data;
inline const Recurrent<at::_ops::rnn_tanh_input, Lower<&replay::lower::recurrent<Cell::tanh>>,
                       Layouts<&replay::layouts::recurrent>>
    rnn_tanh_input;
inline const Recurrent<at::_ops::rnn_tanh_data, Lower<&replay::lower::recurrent<Cell::tanh, true>>,
                       Layouts<&replay::layouts::packed_recurrent>>
    rnn_tanh_data;
inline const Recurrent<at::_ops::rnn_relu_input, Lower<&replay::lower::recurrent<Cell::relu>>,
                       Layouts<&replay::layouts::recurrent>>
    rnn_relu_input;
inline const Recurrent<at::_ops::rnn_relu_data, Lower<&replay::lower::recurrent<Cell::relu, true>>,
                       Layouts<&replay::layouts::packed_recurrent>>
    rnn_relu_data;
inline const Recurrent<at::_ops::lstm_cell, Lower<&replay::lower::recurrent_cell<Cell::lstm>>,
                       Layouts<&replay::layouts::recurrent_cell>>
    lstm_cell;
inline const Recurrent<at::_ops::gru_cell, Lower<&replay::lower::recurrent_cell<Cell::gru>>,
                       Layouts<&replay::layouts::recurrent_cell>>
    gru_cell;
inline const Recurrent<at::_ops::rnn_tanh_cell, Lower<&replay::lower::recurrent_cell<Cell::tanh>>,
                       Layouts<&replay::layouts::recurrent_cell>>
    rnn_tanh_cell;
inline const Recurrent<at::_ops::rnn_relu_cell, Lower<&replay::lower::recurrent_cell<Cell::relu>>,
                       Layouts<&replay::layouts::recurrent_cell>>
    rnn_relu_cell;

}  // namespace registered
}  // namespace sr::ops
