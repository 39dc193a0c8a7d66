// The programs of the stress test, their arguments, and the right answers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/static_module.hpp>

namespace sr::stress {

struct Case {
  std::vector<c10::IValue> args;
  // Bit-identical to one of these, since replays may round differently from the general path. Empty if the
  // call throws.
  std::vector<c10::IValue> right;
};

struct Program {
  std::string name;
  // A new module each time: preparing a module adds types to the compilation unit of its source, which live
  // as long as that does (8 KiB for each clone and each freezing in LibTorch 2.13).
  std::function<torch::jit::Module()> module;
  StaticModuleOptions options;
  int intra_op_threads = 1;  // of each call; the answers are those of serial runs with one and with as many
  std::vector<Case> cases;   // of several shapes and dtypes; some throw
};

// All programs with the answers of serial runs, each with exact and with fast numerics. Throws
// std::runtime_error if a serial run is wrong.
std::vector<Program> make_programs();

// Compares numbers, and tensors bit by bit, also inside tuples and lists.
bool same(const c10::IValue& a, const c10::IValue& b);

}  // namespace sr::stress
