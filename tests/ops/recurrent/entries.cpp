// Recurrent networks and their cells against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_recurrent_tests {

namespace {

using Tensors = c10::List<at::Tensor>;

const OracleOptions kNative{.rtol = 1e-5, .atol = 1e-5, .rounds = 2, .expected_path = "native"};

// Weights of one layer of 4 units on 3 features; `gates` is the number of gates of the cell.
Tensors weights(std::int64_t gates) {
  return Tensors({sample({gates * 4, 3}), sample({gates * 4, 4}), sample({gates * 4}), sample({gates * 4})});
}
// Sizes of steps and sequences: repeated, changed, and the first ones again.
template <int Gates, bool HasCell>
std::vector<InputSet> sequences() {
  at::manual_seed(8);
  const Tensors params = weights(Gates);
  std::vector<InputSet> runs;
  for (const auto& [steps, batch, features] :
       std::vector<std::array<std::int64_t, 3>>{{5, 2, 3}, {5, 2, 3}, {1, 4, 3}, {5, 2, 3}}) {
    const at::Tensor state = sample({1, batch, 4});
    runs.push_back({sample({steps, batch, features}),
                    HasCell ? c10::IValue(Tensors({state, sample({1, batch, 4})})) : c10::IValue(state),
                    params});
  }
  return runs;
}
template <int Gates, bool HasCell>
std::vector<InputSet> packed() {
  std::vector<InputSet> runs;
  for (const InputSet& run : sequences<Gates, HasCell>()) {
    const at::Tensor given = run[0].toTensor();
    if (given.size(0) != 5 || given.size(2) != 3) continue;
    runs.push_back({given.reshape({10, 3}), at::full({5}, 2, at::kLong), run[1], run[2]});
  }
  return runs;
}
template <int Gates, bool HasCell>
std::vector<InputSet> cells() {
  std::vector<InputSet> runs;
  for (const InputSet& run : sequences<Gates, HasCell>()) {
    InputSet cell = {run[0].toTensor()[0]};
    if (HasCell) {
      const Tensors states = run[1].toTensorList();
      cell.emplace_back(Tensors({states.get(0)[0], states.get(1)[0]}));
    } else {
      cell.emplace_back(run[1].toTensor()[0]);
    }
    const Tensors params = run[2].toTensorList();
    for (std::size_t i = 0; i < 4; ++i) cell.emplace_back(params.get(i));
    runs.push_back(std::move(cell));
  }
  return runs;
}

}  // namespace

std::vector<OpRow> recurrent_rows() {
  const std::string tail = "True, 1, 0.0, False, False";
  const std::string lstm = "x, h: List[Tensor], p: List[Tensor]", other = "x, h, p: List[Tensor]";
  const std::string lstm_data = "x, n, h: List[Tensor], p: List[Tensor]", data = "x, n, h, p: List[Tensor]";
  const std::string cell = ", a, b, c, d";
  return {
      {"aten::lstm.input", lstm, "torch.lstm(x, h, p, " + tail + ", False)", &sequences<4, true>, kNative, 3},
      {"aten::gru.input", other, "torch.gru(x, h, p, " + tail + ", False)", &sequences<3, false>, kNative, 2},
      {"aten::rnn_tanh.input", other, "torch.rnn_tanh(x, h, p, " + tail + ", False)", &sequences<1, false>,
       kNative, 2},
      {"aten::rnn_relu.input", other, "torch.rnn_relu(x, h, p, " + tail + ", False)", &sequences<1, false>,
       kNative, 2},
      {"aten::lstm.data", lstm_data, "torch.lstm(x, n, h, p, " + tail + ")", &packed<4, true>, kNative, 3},
      {"aten::gru.data", data, "torch.gru(x, n, h, p, " + tail + ")", &packed<3, false>, kNative, 2},
      {"aten::rnn_tanh.data", data, "torch.rnn_tanh(x, n, h, p, " + tail + ")", &packed<1, false>, kNative,
       2},
      {"aten::rnn_relu.data", data, "torch.rnn_relu(x, n, h, p, " + tail + ")", &packed<1, false>, kNative,
       2},
      {"aten::lstm_cell", "x, h: List[Tensor]" + cell, "torch.lstm_cell(x, h, a, b, c, d)", &cells<4, true>,
       kNative, 2},
      {"aten::gru_cell", "x, h" + cell, "torch.gru_cell(x, h, a, b, c, d)", &cells<3, false>, kNative},
      {"aten::rnn_tanh_cell", "x, h" + cell, "torch.rnn_tanh_cell(x, h, a, b, c, d)", &cells<1, false>,
       kNative},
      {"aten::rnn_relu_cell", "x, h" + cell, "torch.rnn_relu_cell(x, h, a, b, c, d)", &cells<1, false>,
       kNative},
  };
}

const OracleTable registered{&recurrent_rows};

TEST_CASE("recurrent networks equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : recurrent_rows()) {
    DYNAMIC_SECTION(row.key) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_recurrent_tests
