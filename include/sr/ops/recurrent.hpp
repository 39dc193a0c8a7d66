// LSTM, GRU, plain recurrent networks and their cells. All results are new tensors.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>
#include <sr/replay/layouts/recurrent.hpp>

namespace sr::ops {

namespace registered {

inline const NewTensorsOf<at::_ops::lstm_input, Layouts<&replay::layouts::recurrent>> lstm_input;
inline const NewTensorsOf<at::_ops::lstm_data> lstm_data;
inline const NewTensorsOf<at::_ops::gru_input, Layouts<&replay::layouts::recurrent>> gru_input;
inline const NewTensorsOf<at::_ops::gru_data> gru_data;
inline const NewTensorsOf<at::_ops::rnn_tanh_input, Layouts<&replay::layouts::recurrent>> rnn_tanh_input;
inline const NewTensorsOf<at::_ops::rnn_tanh_data> rnn_tanh_data;
inline const NewTensorsOf<at::_ops::rnn_relu_input, Layouts<&replay::layouts::recurrent>> rnn_relu_input;
inline const NewTensorsOf<at::_ops::rnn_relu_data> rnn_relu_data;
inline const NewTensorsOf<at::_ops::lstm_cell> lstm_cell;
inline const NewTensorsOf<at::_ops::gru_cell> gru_cell;
inline const NewTensorsOf<at::_ops::rnn_tanh_cell> rnn_tanh_cell;
inline const NewTensorsOf<at::_ops::rnn_relu_cell> rnn_relu_cell;

}  // namespace registered
}  // namespace sr::ops
