// What the stress test runs: programs, their arguments, and what is right for each.
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
  // Bit for bit one of these: kernels of a replay may round unlike the general path. Empty: the call throws.
  std::vector<c10::IValue> right;
};

struct Program {
  std::string name;
  // Anew each time: preparing a module leaves types in the compilation unit of the one it is made from, which
  // live as long as that does (8 KiB for each clone, 8 more for each freezing, by LibTorch 2.13).
  std::function<torch::jit::Module()> module;
  StaticModuleOptions options;
  std::vector<Case> cases;  // of several shapes and dtypes, some of which throw
};

// All programs with the answers of serial runs; each with exact and with fast numerics. Throws
// std::runtime_error when a serial run is wrong already.
std::vector<Program> make_programs();

// Tensors bit for bit, also inside of tuples and lists; numbers.
bool same(const c10::IValue& a, const c10::IValue& b);

}  // namespace sr::stress
