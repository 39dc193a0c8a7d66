// The check of indices against comparisons one by one. All memory ends at an inaccessible page.
#include <cstddef>
#include <cstdint>
#include <limits>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;

namespace {

template <class Integer>
void check_indices_of(bool wide) {
  using Limits = std::numeric_limits<Integer>;
  static Guarded memory(1 << 12);
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7},
                                   std::int64_t{Limits::max()}, std::numeric_limits<std::int64_t>::max()}) {
    const auto is_within = [&](Integer index) { return index >= 0 && std::int64_t{index} < limit; };
    for (const std::size_t count : {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 100}) {
      auto* const indices = memory.last<Integer>(count);
      for (std::size_t i = 0; i < count; ++i) indices[i] = 0;
      for (const Kernels* set : kernel_sets()) {
        CAPTURE(set->table.name, wide, limit, count);
        CHECK(set->table.all_within(indices, wide, count, limit) == (count == 0 || limit > 0));
        for (std::size_t i = 0; i < count; ++i) {
          for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{0}, limit - 1, limit,
                                           std::int64_t{Limits::min()}, std::int64_t{Limits::max()}}) {
            indices[i] = static_cast<Integer>(value);
            CAPTURE(i, value);
            CHECK(set->table.all_within(indices, wide, count, limit) == (limit > 0 && is_within(indices[i])));
            indices[i] = 0;
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("kernels: the check of indices finds any that is out of range", "[kernels]") {
  check_indices_of<std::int64_t>(true);
  check_indices_of<std::int32_t>(false);
}
