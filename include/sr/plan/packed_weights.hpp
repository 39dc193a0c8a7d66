// Weights in the order the matrix kernels read them, packed once for a module and shared by its plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>

#include <sr/kernels/kernels.hpp>

namespace sr::plan {

struct AlignedFloats {
  explicit AlignedFloats(std::size_t count)
      : data(static_cast<float*>(
            ::operator new[](std::max<std::size_t>(count, 1) * sizeof(float), std::align_val_t{64}))) {}
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  ~AlignedFloats() { ::operator delete[](data, std::align_val_t{64}); }
  float* data;
};

// A matrix b[l][j], k rows and n columns, with any distances between elements.
struct WeightMatrix {
  const float* data = nullptr;
  std::size_t n = 0, k = 0;
  std::ptrdiff_t b_k = 0, b_n = 0;
  auto key() const { return std::tie(data, n, k, b_k, b_n); }
};

// Of a convolution: groups x channels x taps, contiguous. Packed group by group.
struct WeightTaps {
  const float* data = nullptr;
  std::size_t groups = 0, channels = 0, taps = 0;
  auto key() const { return std::tie(data, groups, channels, taps); }
};

inline std::shared_ptr<const AlignedFloats> pack(const WeightMatrix& weight) {
  const kernels::Table& table = kernels::kernels().table;
  auto packed = std::make_shared<AlignedFloats>(table.packed_floats(weight.n, weight.k));
  table.pack(weight.n, weight.k, weight.data, weight.b_k, weight.b_n, packed->data);
  return packed;
}

inline std::shared_ptr<const AlignedFloats> pack(const WeightTaps& weight) {
  const std::size_t count = weight.channels * weight.taps;
  auto packed = std::make_shared<AlignedFloats>(weight.groups * count);
  for (std::size_t g = 0; g < weight.groups; ++g) {
    kernels::kernels().table.pack_taps(weight.channels, weight.taps, weight.data + g * count,
                                       packed->data + g * count);
  }
  return packed;
}

template <class Weight>
struct ByKey {
  bool operator()(const Weight& a, const Weight& b) const { return a.key() < b.key(); }
};

// Thread-safe. Addresses identify weights, which the module keeps alive and nobody writes.
class PackedWeights {
 public:
  template <class Weight>  // WeightMatrix or WeightTaps
  std::shared_ptr<const AlignedFloats> find_or_pack(const Weight& weight) {
    const std::scoped_lock lock(mutex_);
    auto& entry = std::get<Packed<Weight>>(packed_)[weight];
    if (entry == nullptr) entry = pack(weight);
    return entry;
  }

 private:
  template <class Weight>
  using Packed = std::map<Weight, std::shared_ptr<const AlignedFloats>, ByKey<Weight>>;

  std::mutex mutex_;
  std::tuple<Packed<WeightMatrix>, Packed<WeightTaps>> packed_;
};

}  // namespace sr::plan
