// The hook for reading archives of torch.export. <sr/exported.hpp>, in one source file of the program or in
// libsr, registers itself here, so that only programs which include it need a JSON parser.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <torch/csrc/jit/api/module.h>

namespace sr {

// `name` names the archive in messages. If `owner` is null, the tensors of the module are copies. Otherwise
// they lie in `archive`, and each of them holds `owner`, which must keep those bytes alive. Throws LoadError
// and UnsupportedOpError.
using ExportedFrontEnd = torch::jit::Module (*)(std::span<const std::byte> archive, const std::string& name,
                                                std::shared_ptr<const void> owner);

// Holds null if no front end is registered.
inline std::atomic<ExportedFrontEnd>& exported_front_end() {
  static std::atomic<ExportedFrontEnd> registered = nullptr;
  return registered;
}

}  // namespace sr
