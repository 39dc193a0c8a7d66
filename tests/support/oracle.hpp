// The differential oracle: compares LibTorch's TorchScript interpreter, without its optimisations, with sr
// under every planner and option, run after run on one runtime. It compares everything that a caller can
// observe.
#pragma once

#include <string>
#include <vector>

#include <torch/script.h>

namespace sr::test {

using InputSet = std::vector<c10::IValue>;

struct OracleOptions {
  double rtol = 0, atol = 0;   // 0: equal, NaN to NaN
  bool strides = true;         // false: only whether the outputs are contiguous
  bool unread_strides = true;  // false: not strides of dimensions of one element, or of empty tensors
  bool use_counts = true;      // who else holds inputs and outputs after a run
  int rounds = 4;              // repetitions of the sequence of runs; plans are made in the second
  std::string managed = {};    // key of an operator whose node must be an out variant with a managed output
  std::string expected_path = {};  // "out", "native" or "fallback" for the nodes of that key; empty: out
};

// For input sets that repeat by themselves, and results that may differ in the last places.
inline OracleOptions close(double atol = 1e-4) {
  OracleOptions options;
  options.rtol = 1e-5;
  options.atol = atol;
  options.rounds = 1;
  return options;
}

// Runs the sets in turn, `rounds` times. Fails the current test case with the first difference for each
// configuration.
void check_model(const torch::jit::Module& module, const std::vector<InputSet>& runs,
                 const OracleOptions& options = {});
void check_script(const std::string& source, const std::vector<InputSet>& runs,
                  const OracleOptions& options = {});

// Tests one operator twice: with its result read by another operator, so that it is managed, and returned
// directly. `key` is its name in the report, `parameters` are those after self ("x, y: int"), and `results`
// is the number of returned tensors (0 for other results). A whole graph as the expression is run once,
// unchanged.
void check_op(const std::string& key, const std::string& parameters, const std::string& expression,
              const std::vector<InputSet>& runs, OracleOptions options = {}, int results = 1);

// The program for these inputs consists of that many kernels of ours and nothing else.
void check_kernels(const std::string& parameters, const std::string& expression, const InputSet& inputs,
                   std::size_t kernels = 1);

// Copies values. The copies share storage as the originals do, with the same strides and offsets.
InputSet copy_inputs(const InputSet& inputs);

// A tensor with the same values in other layouts: transposed, strided, with an offset, inside a larger one.
at::Tensor transposed(const at::Tensor& tensor);
at::Tensor stepped(const at::Tensor& tensor);

// Empty if equal under the options, else the first difference.
std::string difference(const c10::IValue& expected, const c10::IValue& actual,
                       const OracleOptions& options = {});

// The interpreter's result for inputs that it may change.
c10::IValue interpret(torch::jit::Module& module, const InputSet& inputs);

}  // namespace sr::test
