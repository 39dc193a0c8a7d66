// Weights in the layout that kernels read, packed once for a module and shared by its programs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <vector>

#include <sr/kernels/kernels.hpp>

namespace sr::replay {

template <class T>
struct Aligned {
  explicit Aligned(std::size_t size)
      : count(size),
        data(static_cast<T*>(
            ::operator new[](std::max<std::size_t>(size, 1) * sizeof(T), std::align_val_t{64}))) {}
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { ::operator delete[](data, std::align_val_t{64}); }
  std::size_t bytes() const { return count * sizeof(T); }

  std::size_t count;
  T* data;
};
using AlignedFloats = Aligned<float>;

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

// The same of int8, multiplied by 8-bit integers.
struct Int8Matrix {
  using Element = std::uint8_t;  // of what is packed
  static constexpr const char* kKind = "int8 matrices";

  const std::int8_t* data = nullptr;
  std::size_t n = 0, k = 0;
  std::ptrdiff_t b_k = 0, b_n = 0;
  bool of_module = false;

  auto key() const { return std::tie(data, n, k, b_k, b_n); }
};

// The weights of a convolution of 8-bit integers: channels x in_channels x taps, contiguous. They are packed
// as a matrix whose rows are the taps, each with all of in_channels.
struct Int8Taps {
  using Element = std::uint8_t;
  static constexpr const char* kKind = "int8 windows";

  const std::int8_t* data = nullptr;
  std::size_t channels = 0, in_channels = 0, taps = 0;
  bool of_module = false;

  auto key() const { return std::tie(data, channels, in_channels, taps); }
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

// The weights of a convolution: groups x channels x taps, contiguous. Each group is packed separately into
// packed_share() floats, in the layout that convolve_pixels or convolve reads.
struct WeightTaps {
  using Element = float;
  static constexpr const char* kKind = "float32 windows";

  const float* data = nullptr;
  std::size_t groups = 0, channels = 0, taps = 0;
  bool by_pixels = false;
  // Input channels that are packed innermost; 1: the taps are packed in the order of `data`.
  std::size_t inner = 1;
  ChannelScale scale = {};
  bool of_module = false;

  std::size_t packed_share() const {
    return by_pixels ? kernels::kernels().table.packed_floats(channels, taps) : channels * taps;
  }
  auto key() const {
    return std::tie(data, groups, channels, taps, by_pixels, inner, scale.variance, scale.gamma,
                    scale.epsilon);
  }
};

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
  const auto by_pixels = channels_innermost(weight.data, weight.channels, weight.in_channels, weight.taps);
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
  const kernels::Table& table = kernels::kernels().table;
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

template <class Weight>
struct ByKey {
  bool operator()(const Weight& a, const Weight& b) const { return a.key() < b.key(); }
};

// All packed weights of one kind.
struct PackedSum {
  const char* kind = nullptr;
  std::size_t count = 0, bytes = 0;
};

// Thread-safe. Weights are identified by their addresses; the module keeps them alive, and nobody writes
// them.
class PackedWeights {
 public:
  template <class Weight>  // WeightMatrixOf, Int8Matrix, Int8Taps, GroupedMatrix or WeightTaps
  std::shared_ptr<const Aligned<typename Weight::Element>> find_or_pack(const Weight& weight) {
    if (!weight.of_module) return pack(weight);
    if (auto known = find(weight)) return known;
    // Without the lock: packing takes long, and a process that forks meanwhile would leave the lock held in
    // its child.
    auto packed = pack(weight);
    const std::scoped_lock lock(mutex_);
    return std::get<Packed<Weight>>(packed_).try_emplace(weight, std::move(packed)).first->second;
  }

  // Of the kinds that there are.
  std::vector<PackedSum> sums() {
    std::vector<PackedSum> sums;
    const auto add = [&]<class Weight>(const Packed<Weight>& all) {
      PackedSum sum{.kind = Weight::kKind, .count = all.size()};
      for (const auto& [weight, packed] : all) sum.bytes += packed->bytes();
      if (sum.count != 0) sums.push_back(sum);
    };
    const std::scoped_lock lock(mutex_);
    std::apply([&](const auto&... all) { (add(all), ...); }, packed_);
    return sums;
  }

 private:
  template <class Weight>
  using Packed = std::map<Weight, std::shared_ptr<const Aligned<typename Weight::Element>>, ByKey<Weight>>;

  template <class Weight>
  std::shared_ptr<const Aligned<typename Weight::Element>> find(const Weight& weight) {
    const std::scoped_lock lock(mutex_);
    const auto& all = std::get<Packed<Weight>>(packed_);
    const auto known = all.find(weight);
    return known == all.end() ? nullptr : known->second;
  }

  std::mutex mutex_;
  std::tuple<Packed<WeightMatrix>, Packed<WeightMatrixOf<kernels::Bfloat16Bits>>,
             Packed<WeightMatrixOf<kernels::Float16Bits>>, Packed<WeightMatrixOf<std::int8_t>>,
             Packed<Int8Matrix>, Packed<Int8Taps>, Packed<GroupedMatrix>, Packed<WeightTaps>>
      packed_;
};

}  // namespace sr::replay
