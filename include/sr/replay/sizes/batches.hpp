// Nested loops over batches, with the offsets of several operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/replay/sizes/values.hpp>

namespace sr::replay {

// Outermost dimension first. Without dimensions there is one batch, at offset 0.
template <std::size_t kOperands>
struct Batches {
  Dims sizes;
  std::array<Dims, kOperands> strides;  // elements

  Size count() const { return product_of(sizes); }

  // Drops dimensions of size 1, and merges neighbours that are evenly spaced for all operands.
  void merge() {
    Batches merged;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      if (!merged.sizes.empty() && merged.continues_with(*this, d)) {
        merged.sizes.back() *= sizes[d];
        for (std::size_t i = 0; i < kOperands; ++i) merged.strides[i].back() = strides[i][d];
        continue;
      }
      merged.sizes.push_back(sizes[d]);
      for (std::size_t i = 0; i < kOperands; ++i) merged.strides[i].push_back(strides[i][d]);
    }
    *this = merged;
  }

  // Calls visit(offsets) for each batch of this call in order.
  template <class Visit>
  void each(SizeValues& values, const Visit& visit) const {
    std::array<std::int64_t, kOperands> at{};
    each_from(0, values, at, visit);
  }

 private:
  bool continues_with(const Batches& other, std::size_t d) const {
    for (std::size_t i = 0; i < kOperands; ++i) {
      if (!Size::always_equal(strides[i].back(), other.strides[i][d] * other.sizes[d])) return false;
    }
    return true;
  }

  template <class Visit>
  void each_from(std::size_t d, SizeValues& values, std::array<std::int64_t, kOperands> at,
                 const Visit& visit) const {
    if (d == sizes.size()) return visit(at);
    const std::int64_t count = values(sizes[d]);
    for (std::int64_t b = 0; b < count; ++b) {
      each_from(d + 1, values, at, visit);
      for (std::size_t i = 0; i < kOperands; ++i) at[i] += values(strides[i][d]);
    }
  }
};

}  // namespace sr::replay
