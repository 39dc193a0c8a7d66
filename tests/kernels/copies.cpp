// Strided copies, with the kernels of every instruction set of this CPU.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::random_bits;

namespace {

// A shape, strides in some order of its dimensions with occasional gaps, and on the input occasional strides
// of 0.
StridedCopy any_copy(std::size_t rank, std::size_t width, std::size_t& in_size, std::size_t& out_size) {
  StridedCopy shape{.rank = rank, .width = width};
  for (std::size_t d = 0; d < rank; ++d)
    shape.sizes[d] = std::array{1, 2, 3, 4, 7, 16, 19, 33}[random_bits()() % 8];
  const auto lay_out = [&](auto& strides, bool may_repeat) {
    std::vector<std::size_t> order(rank);
    for (std::size_t d = 0; d < rank; ++d) order[d] = rank - 1 - d;
    if (random_bits()() % 2 == 0) std::shuffle(order.begin(), order.end(), random_bits());
    std::int64_t stride = random_bits()() % 4 == 0 ? 2 : 1, last = 0;
    for (const std::size_t d : order) {
      const bool repeat = may_repeat && random_bits()() % 5 == 0;
      strides[d] = repeat ? 0 : stride;
      last += (shape.sizes[d] - 1) * strides[d];
      if (!repeat) stride = stride * shape.sizes[d] + (random_bits()() % 4 == 0 ? 1 : 0);
    }
    return static_cast<std::size_t>(last + 1);
  };
  in_size = lay_out(shape.in_strides, true);
  out_size = lay_out(shape.out_strides, false);
  return shape;
}

void copy_plainly(const StridedCopy& shape, std::size_t d, const unsigned char* in, unsigned char* out) {
  if (d == shape.rank) {
    std::memcpy(out, in, shape.width);
    return;
  }
  const auto width = static_cast<std::int64_t>(shape.width);
  for (std::int64_t i = 0; i < shape.sizes[d]; ++i) {
    copy_plainly(shape, d + 1, in + i * shape.in_strides[d] * width, out + i * shape.out_strides[d] * width);
  }
}

}  // namespace

TEST_CASE("kernels: strided copies", "[kernels]") {
  static Guarded in_memory(1 << 23), out_memory(1 << 23);
  for (int round = 0; round < 600; ++round) {
    const std::size_t width = std::size_t{1} << (round % 5);
    const std::size_t rank = static_cast<std::size_t>(round / 5 % 5);
    std::size_t in_size = 0, out_size = 0;
    const StridedCopy shape = any_copy(rank, width, in_size, out_size);
    auto* in = in_memory.last<unsigned char>(in_size * width);
    auto* out = out_memory.last<unsigned char>(out_size * width);
    for (std::size_t i = 0; i < in_size * width; ++i) in[i] = static_cast<unsigned char>(random_bits()());
    std::vector<unsigned char> expected(out_size * width, Guarded::kCanary);
    copy_plainly(shape, 0, in, expected.data());
    for (const Kernels* set : kernel_sets()) {
      std::memset(out - Guarded::kWatched, Guarded::kCanary, out_size * width + Guarded::kWatched);
      set->table.copy(shape, in, out);
      CAPTURE(set->table.name, rank, width, shape.sizes, shape.in_strides, shape.out_strides);
      CHECK(std::memcmp(out, expected.data(), expected.size()) == 0);
      CHECK(out_memory.intact_before<unsigned char>(out_size * width));
    }
  }
  for (const Kernels* set : kernel_sets()) {  // a size of 0
    set->table.copy({.rank = 2, .width = 4, .sizes = {3, 0}, .in_strides = {1, 1}, .out_strides = {1, 1}},
                    nullptr, nullptr);
  }
}
