// Quantizes the left operand of an int8 product: each row of floats becomes int8 with its own scale.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/row_shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct RowQuantizer {
  bool is_used = false;
  Address in, out, scales;      // `out` and `scales` are temporaries of the step
  std::uint32_t scales_of = 0;  // the storage in which the graph has the same scales
  Size in_stride;
  kernels::RowQuantization shape;  // the formula, and the sizes of this call; without addresses
  RowShares parts;

  void settle(SizeValues& values, std::size_t rows, std::size_t columns) {
    if (!is_used) return;
    shape.rows = rows;
    shape.columns = columns;
    shape.in_stride = values(in_stride);
    parts.cut(rows, columns, kRows, kLeastElements);
  }
  bool is_shared() const { return is_used && parts.shares.count() > 1; }

  kernels::RowQuantization bound(std::byte* const* bases) const {
    kernels::RowQuantization rows = shape;
    rows.in = in.in<const float>(bases);
    rows.out = out.in<std::int8_t>(bases);
    rows.scales = scales.in<float>(bases);
    return rows;
  }

  void run(std::byte* const* bases) const {
    if (!is_used) return;
    const auto quantize = kernels::kernels().table.quantize_rows;
    const kernels::RowQuantization all = bound(bases);
    if (!is_shared()) return quantize(all);
    parts.each_range(all.rows, [&](std::size_t first, std::size_t count) {
      kernels::RowQuantization part = all;
      part.rows = count;
      part.in += static_cast<std::ptrdiff_t>(first) * all.in_stride;
      part.out += first * all.columns;
      part.scales += first;
      quantize(part);
    });
  }

 private:
  // The rows of a part, and the elements from which on several threads may take part: one thread takes about
  // 20 microseconds for them.
  static constexpr std::size_t kRows = 8, kLeastElements = 1 << 18;
};

}  // namespace sr::replay
