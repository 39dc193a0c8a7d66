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
};

inline std::shared_ptr<const AlignedFloats> pack(const WeightMatrix& weight) {
  const kernels::Table& table = kernels::kernels().table;
  auto packed = std::make_shared<AlignedFloats>(table.packed_floats(weight.n, weight.k));
  table.pack(weight.n, weight.k, weight.data, weight.b_k, weight.b_n, packed->data);
  return packed;
}

// Thread-safe. Addresses identify weights, which the module keeps alive and nobody writes.
class PackedWeights {
 public:
  std::shared_ptr<const AlignedFloats> find_or_pack(const WeightMatrix& weight) {
    const std::scoped_lock lock(mutex_);
    auto& entry = packed_[{weight.data, weight.n, weight.k, weight.b_k, weight.b_n}];
    if (entry == nullptr) entry = pack(weight);
    return entry;
  }

 private:
  using Key = std::tuple<const float*, std::size_t, std::size_t, std::ptrdiff_t, std::ptrdiff_t>;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const AlignedFloats>> packed_;
};

}  // namespace sr::plan
