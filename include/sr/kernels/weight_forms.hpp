// Weights as they are before they are packed: what a kernel multiplies, and what identifies it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <sr/kernels/kernels.hpp>

namespace sr::replay {

// A factor for each column of a matrix, or channel of a convolution, that is applied before packing: the
// scale of a normalisation that follows.
struct ChannelScale {
  const float* variance = nullptr;  // null: with nothing
  const float* gamma = nullptr;     // null: ones
  float epsilon = 0;

  float operator()(std::size_t c) const {
    const float factor = 1 / std::sqrt(variance[c] + epsilon);
    return gamma == nullptr ? factor : factor * gamma[c];
  }
};

template <class T>
inline constexpr const char* kKindOfMatrix = nullptr;
template <>
inline constexpr const char* kKindOfMatrix<float> = "float32 matrices";
template <>
inline constexpr const char* kKindOfMatrix<kernels::Bfloat16Bits> = "bfloat16 matrices";
template <>
inline constexpr const char* kKindOfMatrix<kernels::Float16Bits> = "float16 matrices";
template <>
inline constexpr const char* kKindOfMatrix<std::int8_t> = "int8 matrices, for floats";

// A matrix b[l][j] of k rows and n columns with any strides.
template <class T>
struct WeightMatrixOf {
  using Element = T;
  static constexpr const char* kKind = kKindOfMatrix<T>;

  const T* data = nullptr;
  std::size_t n = 0, k = 0;
  std::ptrdiff_t b_k = 0, b_n = 0;
  ChannelScale scale = {};  // of floats only
  bool of_module = false;   // all that is pointed to; else it is packed for one program

  auto key() const { return std::tie(data, n, k, b_k, b_n, scale.variance, scale.gamma, scale.epsilon); }
};
using WeightMatrix = WeightMatrixOf<float>;

// A matrix of int8 that is multiplied by 8-bit integers.
struct Int8Matrix {
  using Element = std::uint8_t;  // of what is packed
  static constexpr const char* kKind = "int8 matrices";

  const std::int8_t* data = nullptr;
  std::size_t n = 0, k = 0;
  std::ptrdiff_t b_k = 0, b_n = 0;
  bool of_module = false;

  auto key() const { return std::tie(data, n, k, b_k, b_n); }
};

// The weights of a convolution of 8-bit integers: channels x in_channels x taps, contiguous. Each tap is
// packed with all of in_channels: as a row of a matrix, or for int8_windows. Windows of one input channel may
// be packed for int8_depthwise. `runs` is the number of runs of a window; for int8_depthwise, its rows.
struct Int8Taps {
  using Element = std::uint8_t;
  static constexpr const char* kKind = "int8 windows";
  enum class Form { matrix, windows, depthwise };

  const std::int8_t* data = nullptr;
  std::size_t channels = 0, in_channels = 0, taps = 0;
  Form form = Form::matrix;
  std::size_t runs = 1;
  bool of_module = false;

  std::size_t run_bytes() const { return in_channels * taps / runs; }
  auto key() const { return std::tie(data, channels, in_channels, taps, form, runs); }
};

// int8 that groups of k have scales for, and perhaps zero points; see kernels::GroupedWeights.
struct GroupedMatrix {
  using Element = std::uint8_t;
  static constexpr const char* kKind = "int8 or int4 matrices, for floats";

  kernels::GroupedWeights weights;
  const void *scales_of = nullptr, *zeros_of = nullptr;  // what identifies the numbers
  bool of_module = false;

  auto key() const {
    return std::tie(weights.b, weights.n, weights.k, weights.group, weights.b_k, weights.b_n, scales_of,
                    zeros_of);
  }
};

// A GroupedMatrix without zero points that is multiplied by int8 activations.
struct Int8GroupedMatrix : GroupedMatrix {
  static constexpr const char* kKind = "int8 or int4 matrices, for int8";
};

// The weights of a convolution: groups x channels x taps, contiguous. Each group is packed separately into
// packed_share() floats, in the layout that convolve_pixels or convolve reads.
struct WeightTaps {
  using Element = float;
  static constexpr const char* kKind = "float32 windows";

  const float* data = nullptr;
  std::size_t groups = 0, channels = 0, taps = 0;
  bool by_pixels = false;
  bool is_narrow = false;  // for the narrower kernels
  // Input channels that are packed innermost; 1: the taps are packed in the order of `data`.
  std::size_t inner = 1;
  ChannelScale scale = {};
  bool of_module = false;

  const kernels::Table& table() const {
    return is_narrow ? kernels::narrower->table : kernels::kernels().table;
  }
  std::size_t packed_share() const {
    return by_pixels ? table().packed_floats(channels, taps) : channels * taps;
  }
  auto key() const {
    return std::tie(data, groups, channels, taps, by_pixels, is_narrow, inner, scale.variance, scale.gamma,
                    scale.epsilon);
  }
};

}  // namespace sr::replay
