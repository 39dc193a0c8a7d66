// Operands of a fused step that do not lie in the order of iteration.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/values.hpp>

namespace sr::replay {

// The copy of such an operand between memory and scratch, without conversion.
struct TileCopy {
  Dims strides_of;           // in elements, of every dimension of the iteration space
  bool scatters = false;     // from scratch to memory
  bool is_one = false;       // the one element that a whole tile reads
  kernels::StridedCopy box;  // of one whole tile, and the strides, in this call
  Numbers strides;

  // Computes the box and the strides of this call. The parameters are the members of FusedStep with these
  // names.
  void settle(SizeValues& values, const Numbers& sizes, std::size_t split, std::int64_t chunk,
              std::size_t inner) {
    values.fill(strides_of, strides);
    box.rank = 0;
    if (is_one) {
      box.rank = 1;
      box.sizes[0] = box.in_strides[0] = box.out_strides[0] = 1;
      return;
    }
    auto dense = static_cast<std::int64_t>(inner);
    for (std::size_t d = split; d < sizes.size(); ++d) {
      const std::int64_t size = d == split ? chunk : sizes[d];
      if (d != split) dense /= size;
      const std::size_t at = box.rank++;
      box.sizes[at] = size;
      (scatters ? box.in_strides : box.out_strides)[at] = dense;
      (scatters ? box.out_strides : box.in_strides)[at] = strides[d];
    }
  }
};

}  // namespace sr::replay
