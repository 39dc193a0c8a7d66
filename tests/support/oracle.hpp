// The differential oracle: LibTorch's TorchScript interpreter, without any of its optimisations, against sr
// with every planner and option, run after run on one runtime. Everything a caller can see is compared.
#pragma once

#include <string>
#include <vector>

#include <torch/script.h>

namespace sr::test {

using InputSet = std::vector<c10::IValue>;

struct OracleOptions {
  double rtol = 0, atol = 0;       // 0: equal, NaN to NaN
  bool strides = true;             // false: only whether the outputs are contiguous
  bool unread_strides = true;      // false: not those of dims without a second element, or of no elements
  bool use_counts = true;          // who else holds inputs and outputs after a run
  int rounds = 4;                  // how often the sequence of runs is executed: plans are made in the second
  std::string managed = {};        // key of an op whose node must be an out variant with a managed output
  std::string expected_path = {};  // "out", "native" or "fallback" for the nodes of that key; empty: out
};

// For sets that come several times by themselves, and results that differ in the last places.
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

// One op twice: its result read by another op, so that it is managed, and returned as it is. `key` is what
// the report calls it, `parameters` is what stands after self ("x, y: int"), `results` is how many tensors it
// returns, 0 when it is something else. A whole graph as the expression is run once, as it stands.
void check_op(const std::string& key, const std::string& parameters, const std::string& expression,
              const std::vector<InputSet>& runs, OracleOptions options = {}, int results = 1);

// The plan for these inputs is kernels of ours alone, so many.
void check_kernels(const std::string& parameters, const std::string& expression, const InputSet& inputs,
                   std::size_t kernels = 1);

// Copies of values whose tensors share storage as the originals do, with the same strides and offsets.
InputSet copy_inputs(const InputSet& inputs);

// A tensor in other layouts with the same values: transposed, stepped, with an offset, inside a larger one.
at::Tensor transposed(const at::Tensor& tensor);
at::Tensor stepped(const at::Tensor& tensor);

// Empty when equal as the options say; else what differs first.
std::string difference(const c10::IValue& expected, const c10::IValue& actual,
                       const OracleOptions& options = {});

// What the interpreter returns for inputs it may change.
c10::IValue interpret(torch::jit::Module& module, const InputSet& inputs);

}  // namespace sr::test
