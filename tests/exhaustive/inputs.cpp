#include "exhaustive/inputs.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace sr::exhaustive {

namespace {

constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32;

// Zeros, the borders of denormal, integral and finite numbers, NaN, and the points where exponentials and
// activations change.
constexpr std::array kMagnitudes{0x0p0f,
                                 0x1p-149f,
                                 0x1p-140f,
                                 0x1.fffffcp-127f,
                                 0x1p-126f,
                                 0x1p-64f,
                                 0x1p-26f,
                                 0x1p-14f,
                                 0x1.fffffep-2f,
                                 0.5f,
                                 0x1.6a09e6p-1f,
                                 1.0f,
                                 1.5f,
                                 2.5f,
                                 3.0f,
                                 6.0f,
                                 20.0f,
                                 88.6f,
                                 89.5f,
                                 103.5f,
                                 0x1.fffffep22f,
                                 0x1.000002p23f,
                                 0x1p64f,
                                 0x1.fffffep127f,
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
constexpr std::uint64_t kSpecials = 2 * kMagnitudes.size();

float special(std::uint64_t index) {
  const float magnitude = kMagnitudes[index / 2 % kMagnitudes.size()];
  return index % 2 == 0 ? magnitude : -magnitude;
}

float with_bits(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

// Spreads a number over 64 bits: multiplies by an odd constant and folds high bits down, three times.
std::uint64_t mixed(std::uint64_t number) {
  for (int round = 0; round < 3; ++round) {
    number *= 0x9e3779b97f4a7c15;
    number ^= number >> 29;
  }
  return number;
}

// A quarter of the operands are special values, a quarter have random bits, a quarter have the size of
// activations, and a quarter are close to the previous operand, so that differences cancel.
float random_operand(std::uint64_t bits, float before) {
  const std::uint64_t low = bits & 0xffffffff;
  const std::uint64_t kind = bits >> 62;
  if (kind == 0) return special(low);
  if (kind == 1) return with_bits(low);
  if (kind == 2) return static_cast<float>(static_cast<double>(low) * 0x1p-28 - 8);
  const float close = with_bits(std::bit_cast<std::uint32_t>(before) + low % 9 - 4);
  return (low & 0x10000) != 0 ? close : -close;
}

}  // namespace

Inputs::Inputs(std::size_t operands, const Choice& choice) : operands_(operands), choice_(choice) {
  if (operands == 1) {
    others_ = (kPatterns + choice.stride - 1) / choice.stride;
    specials_ = choice.stride == 1 ? 0 : kSpecials;
  } else {
    others_ = choice.samples;
    specials_ = operands == 2 ? kSpecials * kSpecials : kSpecials * kSpecials * kSpecials;
  }
}

std::array<float, kernels::kMaxOperands> Inputs::at(std::uint64_t index) const {
  std::array<float, kernels::kMaxOperands> result{};
  if (index < specials_) {
    for (float& operand : result) {
      operand = special(index % kSpecials);
      index /= kSpecials;
    }
    return result;
  }
  index -= specials_;
  if (operands_ == 1) {
    // A random pattern of each stride: multiples of the stride would have regular low bits.
    const std::uint64_t offset = choice_.stride == 1 ? 0 : mixed(index + choice_.seed) % choice_.stride;
    result[0] = with_bits(std::min(index * choice_.stride + offset, kPatterns - 1));
    return result;
  }
  std::uint64_t random = mixed(index + choice_.seed * kPatterns);
  float before = with_bits(random);
  for (float& operand : result) {
    random = mixed(random + 1);
    before = operand = random_operand(random, before);
  }
  return result;
}

std::size_t Inputs::fill(std::uint64_t block, Columns& columns) const {
  const std::uint64_t first = block * kBlock;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count() - first));
  for (std::size_t i = 0; i < size; ++i) {
    const auto operands = at(first + i);
    for (std::size_t o = 0; o < operands_; ++o) columns[o][i] = operands[o];
  }
  return size;
}

}  // namespace sr::exhaustive
