// Sums of rows of a table whose elements are bytes or nibbles, with a scale and a bias in each row: the
// tables of LibTorch's quantized::embedding_bag_byte_rowwise_offsets and embedding_bag_4bit_rowwise_offsets.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/bags.hpp>
#include <sr/kernels/bfloat16.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// The float of an IEEE 754 float of 16 bits, which is exact.
SR_KERNEL_INLINE float half_to_float(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0) {  // denormals, which are none in 32 bits
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

// Elements of kBits bits; the lower nibble of a byte comes first. Scale and bias, floats for bytes and halves
// for nibbles, follow the elements of a row.
template <std::size_t kBits>
struct QuantizedRows {
  const std::uint8_t* first;
  std::ptrdiff_t stride;
  std::size_t to_scale;  // in bytes

  static constexpr std::size_t kBehind = kBits == 8 ? 8 : 4;  // bytes of a scale and a bias
  static constexpr std::size_t bytes(std::size_t columns) { return columns * kBits / 8; }

  struct Row {
    const std::uint8_t* values;
    Vec scale, bias;

    // The last register of a block may begin before the block, at a negative column.
    SR_KERNEL_INLINE Vec load(std::size_t column, Full) const {
      const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(column) * std::ptrdiff_t{kBits} / 8;
      if constexpr (kBits == 8) {
        return load_widened(values + offset);
      } else {
        return load_nibbles(values + offset);
      }
    }
    // Reads the end of a row that is shorter than a register: the bytes behind it may not be mapped.
    SR_KERNEL_INLINE Vec load(std::size_t, Part part) const {
      std::uint8_t some[kWidth] = {};
      std::memcpy(some, values, bytes(part.count));
      return Row{some, scale, bias}.load(0, Full{});
    }
    // Rounds as FBGEMM does, whose kernel LibTorch calls.
    template <class Part>
    SR_KERNEL_INLINE Vec add(Vec total, std::size_t column, Part part) const {
      return fma(load(column, part), scale, total + bias);
    }
    template <class Part>
    SR_KERNEL_INLINE Vec add_weighted(Vec total, Vec weight, std::size_t column, Part part) const {
      return fma(load(column, part), scale * weight, total + bias * weight);
    }
  };

  SR_KERNEL_INLINE QuantizedRows(const Bags& bags, std::size_t at)
      : first(static_cast<const std::uint8_t*>(bags.table) + bytes(at)),
        stride(bags.table_stride),
        to_scale(bytes(bags.columns) - bytes(at)) {}
  SR_KERNEL_INLINE Row row(std::int64_t index) const {
    const std::uint8_t* const values = first + index * stride;
    if constexpr (kBits == 8) {
      float pair[2];
      std::memcpy(pair, values + to_scale, sizeof(pair));
      return {values, Vec(pair[0]), Vec(pair[1])};
    } else {
      std::uint16_t pair[2];
      std::memcpy(pair, values + to_scale, sizeof(pair));
      return {values, Vec(half_to_float(pair[0])), Vec(half_to_float(pair[1]))};
    }
  }
  SR_KERNEL_INLINE void prefetch(std::int64_t index, std::size_t offset) const {
    __builtin_prefetch(first + index * stride + offset);
  }
};

template <std::size_t kBits, class Integer>
inline void reduce_quantized_bags_by(const Bags& bags) {
  if (bags.mode == BagMode::weighted_sum)
    return reduce_bags<QuantizedRows<kBits>, BagMode::weighted_sum, Integer>(bags);
  reduce_bags<QuantizedRows<kBits>, BagMode::sum, Integer>(bags);
}

template <std::size_t kBits>
inline void reduce_quantized_bags(const Bags& bags) {
  if (bags.wide) return reduce_quantized_bags_by<kBits, std::int64_t>(bags);
  reduce_quantized_bags_by<kBits, std::int32_t>(bags);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
