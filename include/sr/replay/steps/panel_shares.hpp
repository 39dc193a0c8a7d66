// Divides a product with packed weights among threads: each computes some panels of its columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/shares.hpp>

namespace sr::replay {

struct PanelShares {
  std::int64_t least_shared = kLeastShared;  // the multiply-adds that are worth several threads
  Shares shares;

  // Divides the columns of a product that is large enough into panels. Returns whether there are several.
  bool cut(std::size_t rows, std::size_t columns, std::size_t depth) {
    const double results = static_cast<double>(rows) * static_cast<double>(columns);
    const bool is_large = results * static_cast<double>(depth) >= static_cast<double>(least_shared);
    shares.set(is_large ? static_cast<std::int64_t>((columns + panel() - 1) / panel()) : 0, results);
    return shares.count() > 1;
  }

  // Calls multiply(part) for parts of the product, on several threads at once. Product has a range of
  // columns, `first_column` and `end_column`.
  template <class Product, class Multiply>
  void each(const Product& whole, const Multiply& multiply) const {
    shares.each([&](std::int64_t first, std::int64_t end) {
      Product part = whole;
      part.first_column = static_cast<std::size_t>(first) * panel();
      part.end_column = std::min(static_cast<std::size_t>(end) * panel(), whole.n);
      multiply(part);
    });
  }

 private:
  static std::size_t panel() { return 2 * kernels::kernels().table.width; }
};

}  // namespace sr::replay
