// The step that initialises a tensor which later steps change.
#pragma once

#include <cstring>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct InitialBytesStep final : ClonableStep<InitialBytesStep> {
  std::string_view name() const override { return "initial bytes"; }
  at::Tensor bytes;
  Address to;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const InitialBytesStep&>(payload);
    if (self.bytes.nbytes() != 0)
      std::memcpy(self.to.in(context.bases), self.bytes.const_data_ptr(), self.bytes.nbytes());
  }
};

}  // namespace sr::replay
