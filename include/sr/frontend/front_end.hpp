// How sr reads archives of torch.export: <sr/exported.hpp>, in one source file of the program or in the
// compiled operators, registers itself here, and only who has it needs its JSON parser.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include <torch/csrc/jit/api/module.h>

namespace sr {

// `name` is what messages call the archive. Throws LoadError and UnsupportedOp.
using ExportedFrontEnd = torch::jit::Module (*)(std::span<const std::byte> archive, const std::string& name);

// Null: there is none.
inline std::atomic<ExportedFrontEnd>& exported_front_end() {
  static std::atomic<ExportedFrontEnd> registered = nullptr;
  return registered;
}

}  // namespace sr
