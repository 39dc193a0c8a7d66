// LSTM, GRU, plain recurrent networks and their cells. All results are new tensors.
#pragma once

#include <algorithm>
#include <optional>

#include <ATen/Functions.h>

#include <sr/base/through_autograd.hpp>
#include <sr/ops/recurrent/layouts.hpp>
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

inline const Recurrent<at::_ops::lstm_input, Layouts<&replay::layouts::recurrent>> lstm_input;
inline const Recurrent<at::_ops::lstm_data> lstm_data;
inline const Recurrent<at::_ops::gru_input, Layouts<&replay::layouts::recurrent>> gru_input;
inline const Recurrent<at::_ops::gru_data> gru_data;
inline const Recurrent<at::_ops::rnn_tanh_input, Layouts<&replay::layouts::recurrent>> rnn_tanh_input;
inline const Recurrent<at::_ops::rnn_tanh_data> rnn_tanh_data;
inline const Recurrent<at::_ops::rnn_relu_input, Layouts<&replay::layouts::recurrent>> rnn_relu_input;
inline const Recurrent<at::_ops::rnn_relu_data> rnn_relu_data;
inline const Recurrent<at::_ops::lstm_cell, Layouts<&replay::layouts::recurrent_cell>> lstm_cell;
inline const Recurrent<at::_ops::gru_cell, Layouts<&replay::layouts::recurrent_cell>> gru_cell;
inline const Recurrent<at::_ops::rnn_tanh_cell, Layouts<&replay::layouts::recurrent_cell>> rnn_tanh_cell;
inline const Recurrent<at::_ops::rnn_relu_cell, Layouts<&replay::layouts::recurrent_cell>> rnn_relu_cell;

}  // namespace registered
}  // namespace sr::ops
