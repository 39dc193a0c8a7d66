// Packs weights into the layout that kernels read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <sr/kernels/aligned.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/weight_forms.hpp>

namespace sr::replay {

// The matrix in the layout that `pack` writes, which takes as many elements as `count` says.
template <class T, class Matrix, class Pack>
std::shared_ptr<const Aligned<T>> packed_by(std::size_t (*count)(std::size_t n, std::size_t k), Pack pack,
                                            const Matrix& weight) {
  auto packed = std::make_shared<Aligned<T>>(count(weight.n, weight.k));
  pack(weight.n, weight.k, weight.data, weight.b_k, weight.b_n, packed->data);
  return packed;
}

inline std::shared_ptr<const AlignedFloats> pack(WeightMatrix weight) {
  std::vector<float> scaled;
  if (weight.scale.variance != nullptr) {
    scaled.resize(weight.n * weight.k);
    for (std::size_t j = 0; j < weight.n; ++j) {
      const float factor = weight.scale(j);
      const float* const column = weight.data + static_cast<std::ptrdiff_t>(j) * weight.b_n;
      for (std::size_t l = 0; l < weight.k; ++l)
        scaled[j * weight.k + l] = column[static_cast<std::ptrdiff_t>(l) * weight.b_k] * factor;
    }
    weight.data = scaled.data();
    weight.b_k = 1;
    weight.b_n = static_cast<std::ptrdiff_t>(weight.k);
  }
  const kernels::Table& table = kernels::kernels().table;
  return packed_by<float>(table.packed_floats, table.pack, weight);
}

template <class T>
const kernels::SmallWeights<T>& small_weights() {
  const kernels::Table& table = kernels::kernels().table;
  if constexpr (std::is_same_v<T, kernels::Bfloat16Bits>) {
    return table.bfloat16_weights;
  } else if constexpr (std::is_same_v<T, kernels::Float16Bits>) {
    return table.float16_weights;
  } else {
    static_assert(std::is_same_v<T, std::int8_t>);
    return table.int8_weights;
  }
}

template <class T>
std::shared_ptr<const Aligned<T>> pack(const WeightMatrixOf<T>& weight) {
  return packed_by<T>(kernels::kernels().table.packed_small, small_weights<T>().pack, weight);
}

inline std::shared_ptr<const Aligned<std::uint8_t>> pack(const Int8Matrix& weight) {
  const kernels::Table& table = kernels::kernels().table;
  return packed_by<std::uint8_t>(table.packed_int8_bytes, table.pack_int8, weight);
}

// The weights, which have the order [out][in][window], in the order [out][window][in].
template <class T>
std::vector<T> channels_innermost(const T* weights, std::size_t out, std::size_t in, std::size_t window) {
  std::vector<T> ordered(out * in * window);
  for (std::size_t channel = 0; channel < out; ++channel) {
    for (std::size_t c = 0; c < in; ++c) {
      for (std::size_t w = 0; w < window; ++w)
        ordered[(channel * window + w) * in + c] = weights[(channel * in + c) * window + w];
    }
  }
  return ordered;
}

inline std::shared_ptr<const Aligned<std::uint8_t>> pack(const Int8Taps& weight) {
  const std::size_t k = weight.in_channels * weight.taps;
  const kernels::Table& table = kernels::kernels().table;
  if (weight.form == Int8Taps::Form::depthwise) {
    auto packed = std::make_shared<Aligned<std::uint8_t>>(
        table.packed_int8_depthwise_bytes(weight.channels, weight.runs));
    table.pack_int8_depthwise(weight.channels, weight.runs, weight.data, packed->data);
    return packed;
  }
  const auto by_pixels = channels_innermost(weight.data, weight.channels, weight.in_channels, weight.taps);
  if (weight.form == Int8Taps::Form::windows) {
    const std::size_t groups = weight.runs * ((weight.run_bytes() + 3) / 4);
    auto packed =
        std::make_shared<Aligned<std::uint8_t>>(table.packed_int8_windows_bytes(weight.channels, groups));
    table.pack_int8_windows(weight.channels, weight.runs, weight.run_bytes(), by_pixels.data(), packed->data);
    return packed;
  }
  return pack(Int8Matrix{.data = by_pixels.data(),
                         .n = weight.channels,
                         .k = k,
                         .b_k = 1,
                         .b_n = static_cast<std::ptrdiff_t>(k)});
}

inline std::shared_ptr<const Aligned<std::uint8_t>> pack(const GroupedMatrix& weight) {
  const kernels::Table& table = kernels::kernels().table;
  auto packed = std::make_shared<Aligned<std::uint8_t>>(table.packed_grouped_bytes(weight.weights));
  table.pack_grouped(weight.weights, packed->data);
  return packed;
}

inline std::shared_ptr<const Aligned<std::uint8_t>> pack(const Int8GroupedMatrix& weight) {
  const kernels::Table& table = kernels::kernels().table;
  auto packed = std::make_shared<Aligned<std::uint8_t>>(table.packed_int8_grouped_bytes(weight.weights));
  table.pack_int8_grouped(weight.weights, packed->data);
  return packed;
}

inline std::shared_ptr<const AlignedFloats> pack(WeightTaps weight) {
  const std::size_t count = weight.channels * weight.taps;
  std::vector<float> scaled;
  if (weight.scale.variance != nullptr) {
    scaled.assign(weight.data, weight.data + weight.groups * count);
    for (std::size_t c = 0; c < weight.groups * weight.channels; ++c) {
      const float factor = weight.scale(c);
      for (std::size_t tap = 0; tap < weight.taps; ++tap) scaled[c * weight.taps + tap] *= factor;
    }
    weight.data = scaled.data();
  }
  std::vector<float> ordered;
  if (weight.inner != 1) {
    ordered = channels_innermost(weight.data, weight.groups * weight.channels, weight.inner,
                                 weight.taps / weight.inner);
    weight.data = ordered.data();
  }
  const kernels::Table& table = weight.table();
  const std::size_t share = weight.packed_share();
  auto packed = std::make_shared<AlignedFloats>(weight.groups * share);
  for (std::size_t g = 0; g < weight.groups; ++g) {
    const float* const from = weight.data + g * count;
    float* const to = packed->data + g * share;
    if (weight.by_pixels) {
      table.pack(weight.channels, weight.taps, from, 1, static_cast<std::ptrdiff_t>(weight.taps), to);
    } else {
      table.pack_taps(weight.channels, weight.taps, from, to);
    }
  }
  return packed;
}

}  // namespace sr::replay
