// Divides a kernel on the rows of a matrix among threads: each computes some of the rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/table.hpp>
#include <sr/replay/steps/shares.hpp>

namespace sr::replay {

struct RowShares {
  Shares shares;
  std::size_t unit = 1;  // rows of a part, but for the last one

  // Divides a matrix of at least `least_elements` into parts of `rows_together` rows. Returns whether there
  // are several.
  bool cut(std::size_t rows, std::size_t columns, std::size_t rows_together = 1,
           std::size_t least_elements = kLeastElements) {
    unit = rows_together;
    const std::size_t elements = rows * columns;
    shares.set(elements < least_elements ? 0 : static_cast<std::int64_t>((rows + unit - 1) / unit),
               static_cast<double>(elements));
    return shares.count() > 1;
  }
  bool cut(const kernels::RowMatrix& all, std::size_t rows_together = 1) {
    return cut(all.rows, all.columns, rows_together);
  }

  // Calls body(first, count) for ranges of the rows, on several threads at once.
  template <class Body>
  void each_range(std::size_t rows, const Body& body) const {
    shares.each([&](std::int64_t begin, std::int64_t end) {
      const std::size_t first = static_cast<std::size_t>(begin) * unit;
      body(first, std::min(static_cast<std::size_t>(end) * unit, rows) - first);
    });
  }

  // Calls kernel(part) for parts of the rows, on several threads at once.
  template <class Kernel>
  void each(const kernels::RowMatrix& all, const Kernel& kernel) const {
    each_range(all.rows, [&](std::size_t first, std::size_t count) {
      kernels::RowMatrix part = all;
      part.rows = count;
      part.in += static_cast<std::ptrdiff_t>(first) * all.in_stride;
      part.out += static_cast<std::ptrdiff_t>(first) * all.out_stride;
      kernel(part);
    });
  }

 private:
  static constexpr std::size_t kLeastElements = 1 << 16;  // about 20 microseconds of one thread
};

}  // namespace sr::replay
