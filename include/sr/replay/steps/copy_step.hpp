// Copies between tensors of one dtype with any strides.
#pragma once

#include <cstddef>
#include <string_view>

#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct CopyStep final : ClonableStep<CopyStep> {
  std::string_view name() const override { return "copy"; }
  bool logs_writes() const override { return true; }
  struct Part {
    std::size_t width = 0;  // bytes of an element
    Dims sizes, in_strides, out_strides;
    Address in, out;
    bool is_logged = false;      // `out` outlives the call
    kernels::StridedCopy shape;  // in this call
  };
  c10::SmallVector<Part, 4> parts;
  void (*copy)(const kernels::StridedCopy& shape, const void* in, void* out) = nullptr;

  std::size_t vector_bytes() const { return bytes_of(parts); }

  RunStep settle(SizeValues& values) override {
    for (Part& part : parts) {
      part.shape.width = part.width;
      part.shape.rank = part.sizes.size();
      for (std::size_t d = 0; d < part.sizes.size(); ++d) {
        part.shape.sizes[d] = values(part.sizes[d]);
        part.shape.in_strides[d] = values(part.in_strides[d]);
        part.shape.out_strides[d] = values(part.out_strides[d]);
      }
    }
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const CopyStep&>(payload);
    for (const Part& part : self.parts) {
      if (part.is_logged) context.services->undo.keep(part.shape, part.out.in(context.bases));
      self.copy(part.shape, part.in.in(context.bases), part.out.in(context.bases));
    }
  }
};

}  // namespace sr::replay
