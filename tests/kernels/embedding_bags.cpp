// Bags of rows of a table, with the kernels of every instruction set of this CPU.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kNaN;
using sr::test::near;
using sr::test::random_bits;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

constexpr std::int64_t kRows = 9;  // of a table

std::vector<std::int64_t> random_indices(std::size_t count) {
  std::vector<std::int64_t> indices(count);
  for (std::int64_t& index : indices) index = static_cast<std::int64_t>(random_bits()() % kRows);
  return indices;
}

// The values as integers of 64 bits or of 32, at the end of the memory.
const void* place(Guarded& memory, const std::vector<std::int64_t>& values, bool wide) {
  const auto write = [&]<class T>(T* to) {
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
    return static_cast<const void*>(to);
  };
  return wide ? write(memory.last<std::int64_t>(values.size()))
              : write(memory.last<std::int32_t>(values.size()));
}

// The value of one bag in double precision; in a maximum, a NaN after the first row is ignored.
double plain_bag(const Bags& bags, const std::vector<std::int64_t>& indices, std::int64_t from,
                 std::int64_t to, std::size_t column) {
  double result = 0;
  std::int64_t taken = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int64_t index = indices[static_cast<std::size_t>(i)];
    if (index == bags.padding) continue;
    const float x = static_cast<const float*>(bags.table)[index * bags.table_stride + signed_size(column)];
    if (bags.mode == BagMode::max) {
      if (taken == 0 || x > result) result = x;
    } else {
      result += bags.mode == BagMode::weighted_sum ? double{x} * bags.weights[i] : double{x};
    }
    ++taken;
  }
  return bags.mode == BagMode::mean && taken > 0 ? result / static_cast<double>(taken) : result;
}

}  // namespace

TEST_CASE("kernels: bags of rows of a table", "[kernels]") {
  static Guarded table_memory(1 << 16), index_memory(1 << 12), offset_memory(1 << 12), weight_memory(1 << 12),
      out_memory(1 << 16);
  const std::vector<std::int64_t> offsets{0, 0, 1, 4, 4, 30}, indices = random_indices(33);
  float* weights = weight_memory.last<>(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) weights[i] = uniform();
  for (const std::size_t columns : {1, 3, 4, 7, 8, 9, 16, 17, 31, 40, 64, 65, 100, 127, 128, 129, 150, 300}) {
    const std::size_t stride = columns + 3, table_size = (kRows - 1) * stride + columns;
    float* table = table_memory.last<>(table_size);
    for (std::size_t i = 0; i < table_size; ++i) table[i] = random_bits()() % 50 == 0 ? kNaN : uniform(-9, 9);
    for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::weighted_sum, BagMode::max}) {
      for (const bool wide : {false, true}) {
        for (const bool to_last_offset : {false, true}) {
          for (const std::int64_t padding : {-1, 4}) {
            Bags bags{.mode = mode,
                      .bags = offsets.size() - (to_last_offset ? 1 : 0),
                      .columns = columns,
                      .table = table,
                      .table_stride = signed_size(stride),
                      .wide = wide,
                      .indices_count = to_last_offset ? offsets.back() : signed_size(indices.size()),
                      .offsets_count = signed_size(offsets.size()),
                      .padding = padding,
                      .weights = weights,
                      .out_stride = signed_size(columns + 1)};
            bags.indices = place(index_memory, indices, wide);
            bags.offsets = place(offset_memory, offsets, wide);
            const std::size_t out_size = (bags.bags - 1) * (columns + 1) + columns;
            for (const Kernels* set : kernel_sets()) {
              out_memory.reset();
              bags.out = out_memory.last<>(out_size);
              set->table.reduce_bags(bags);
              std::size_t wrong = !out_memory.intact_before<>(out_size);
              for (std::size_t b = 0; b < bags.bags; ++b) {
                const std::int64_t to = b + 1 < offsets.size() ? offsets[b + 1] : bags.indices_count;
                for (std::size_t c = 0; c < columns; ++c) {
                  const double expected = plain_bag(bags, indices, offsets[b], to, c);
                  const float got = bags.out[b * (columns + 1) + c];
                  wrong += std::isnan(expected) ? !std::isnan(got) : !near(got, expected, 1e-4);
                }
                if (b + 1 < bags.bags)
                  wrong += std::bit_cast<std::uint32_t>(bags.out[b * (columns + 1) + columns]) != 0xCBCBCBCB;
              }
              CAPTURE(set->table.name, columns, static_cast<int>(mode), wide, to_last_offset, padding);
              CHECK(wrong == 0);
            }
          }
        }
      }
    }
  }
}

namespace {

// A row of a quantized table: elements, then a scale and a bias.
template <std::size_t kBits>
struct PlainRow {
  const std::uint8_t* bytes;
  std::size_t columns;

  float element(std::size_t column) const {
    if (kBits == 8) return bytes[column];
    const int pair = bytes[column / 2];
    return static_cast<float>(column % 2 == 0 ? pair & 15 : pair >> 4);
  }
  // The first of the pair is the scale, the second the bias.
  float parameter(std::size_t which) const {
    const std::uint8_t* const from = bytes + columns * kBits / 8;
    if (kBits == 8) {
      float value;
      std::memcpy(&value, from + which * sizeof(value), sizeof(value));
      return value;
    }
    std::uint16_t half;
    std::memcpy(&half, from + which * sizeof(half), sizeof(half));
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const float size = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                       : exponent != 31 ? std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25)
                       : mantissa == 0  ? std::numeric_limits<float>::infinity()
                                        : kNaN;
    return (half & 0x8000) != 0 ? -size : size;
  }
};

// In the order and with the roundings of FBGEMM, or with a rounding of each product where the instruction set
// has no fused multiply-add.
template <std::size_t kBits>
float plain_quantized_bag(const Bags& bags, const std::vector<std::int64_t>& indices, std::int64_t from,
                          std::int64_t to, std::size_t column, bool is_fused) {
  float total = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const PlainRow<kBits> row{static_cast<const std::uint8_t*>(bags.table) +
                                  indices[static_cast<std::size_t>(i)] * bags.table_stride,
                              bags.columns};
    const bool is_weighted = bags.mode == BagMode::weighted_sum;
    const float weight = is_weighted ? bags.weights[i] : 1.0f;
    const float scale = row.parameter(0) * weight, sum = total + row.parameter(1) * weight;
    total = is_fused ? std::fma(row.element(column), scale, sum) : row.element(column) * scale + sum;
  }
  return total;
}

template <std::size_t kBits>
void check_quantized_bags() {
  static Guarded table_memory(1 << 16), index_memory(1 << 12), offset_memory(1 << 12), weight_memory(1 << 12),
      out_memory(1 << 16);
  const std::vector<std::int64_t> offsets{0, 0, 1, 4, 4, 30}, indices = random_indices(33);
  float* weights = weight_memory.last<>(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) weights[i] = uniform();
  for (const std::size_t columns : {2, 4, 6, 8, 10, 16, 18, 30, 32, 64, 66, 100, 128, 130, 300}) {
    const std::size_t stride = columns * kBits / 8 + (kBits == 8 ? 8 : 4);
    auto* const table = table_memory.last<std::uint8_t>(kRows * stride);
    for (std::size_t i = 0; i < kRows * stride; ++i) table[i] = static_cast<std::uint8_t>(random_bits()());
    for (std::int64_t r = 0; r + 1 < kRows; ++r) {  // the last row's scale and bias are any bits
      std::uint8_t* const to = table + r * signed_size(stride) + columns * kBits / 8;
      const float pair[] = {uniform(0, 1), uniform(-9, 9)};
      const std::uint16_t halves[] = {0x1234, static_cast<std::uint16_t>(r % 2 == 0 ? 0xb800 : 0x0003)};
      if (kBits == 8)
        std::memcpy(to, pair, sizeof(pair));
      else
        std::memcpy(to, halves, sizeof(halves));
    }
    for (const BagMode mode : {BagMode::sum, BagMode::weighted_sum}) {
      for (const bool wide : {false, true}) {
        for (const std::int64_t length : {0, 3}) {  // of bags without offsets
          Bags bags{.mode = mode,
                    .bags = length != 0 ? indices.size() / 3 : offsets.size(),
                    .columns = columns,
                    .table = table,
                    .table_stride = signed_size(stride),
                    .bag_length = length,
                    .wide = wide,
                    .indices_count = signed_size(indices.size()),
                    .offsets_count = length != 0 ? 0 : signed_size(offsets.size()),
                    .weights = weights,
                    .out_stride = signed_size(columns)};
          bags.indices = place(index_memory, indices, wide);
          if (length == 0) bags.offsets = place(offset_memory, offsets, wide);
          const std::size_t out_size = bags.bags * columns;
          for (const Kernels* set : kernel_sets()) {
            out_memory.reset();
            bags.out = out_memory.last<>(out_size);
            (kBits == 8 ? set->table.reduce_byte_bags : set->table.reduce_nibble_bags)(bags);
            std::size_t wrong = !out_memory.intact_before<>(out_size);
            for (std::size_t b = 0; b < bags.bags; ++b) {
              const std::int64_t from = length != 0 ? signed_size(b) * length : offsets[b];
              const std::int64_t to = length != 0              ? from + length
                                      : b + 1 < offsets.size() ? offsets[b + 1]
                                                               : bags.indices_count;
              for (std::size_t c = 0; c < columns; ++c) {
                const float expected =
                    plain_quantized_bag<kBits>(bags, indices, from, to, c, set->table.width > 4);
                const float got = bags.out[b * columns + c];
                wrong += std::isnan(expected)
                             ? !std::isnan(got)
                             : std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(got);
              }
            }
            CAPTURE(set->table.name, columns, static_cast<int>(mode), wide, length);
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("kernels: bags of rows of a table of bytes", "[kernels]") {
  check_quantized_bags<8>();
}

TEST_CASE("kernels: bags of rows of a table of half bytes", "[kernels]") {
  check_quantized_bags<4>();
}
