// Frees what a replay leaves behind, also if an operator throws.
#pragma once

#include <exception>

#include <ATen/core/ivalue.h>

#include <sr/replay/programs/program.hpp>

namespace sr::replay {

// Releases the values of interpreted nodes.
struct ReleaseValues {
  Program& program;
  [[gnu::always_inline]] ~ReleaseValues() {
    if (program.interpreted != 0) release();
  }
  [[gnu::noinline]] void release() {
    for (c10::IValue& value : program.values) value = c10::IValue();
    for (at::Tensor& tensor : program.tensors) tensor.reset();
    if (std::uncaught_exceptions() == 0) program.ran->clear();  // else the general path may need it
  }
};

// Also lets go of the memory of the results, which the caller then owns.
struct ReleaseResults : ReleaseValues {
  ~ReleaseResults() { this->program.results.release(); }
};

// Releases the storages of values that were assigned to variables. The state owns them from then on.
struct ReleaseState {
  Program& program;
  ~ReleaseState() { program.assigned.release(); }
};

}  // namespace sr::replay
