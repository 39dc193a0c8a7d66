// The padding that convolutions may name instead of giving numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <c10/util/ArrayRef.h>

namespace sr::replay {

// The padding of each dimension for "valid" and "same", on each side. Nothing if "same" needs another padding
// behind an image than before it: ATen pads a copy of the image first. `dilations` has one number for each
// dimension, or one for all of them.
inline std::optional<std::vector<std::int64_t>> named_padding(std::string_view name,
                                                              c10::IntArrayRef dilations,
                                                              c10::IntArrayRef kernels) {
  std::vector<std::int64_t> pads(kernels.size(), 0);
  if (name != "same") return pads;
  for (std::size_t d = 0; d < kernels.size(); ++d) {
    const std::int64_t all = dilations[dilations.size() == 1 ? 0 : d] * (kernels[d] - 1);
    if (all % 2 != 0) return std::nullopt;
    pads[d] = all / 2;
  }
  return pads;
}

}  // namespace sr::replay
