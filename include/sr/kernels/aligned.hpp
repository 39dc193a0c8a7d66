// An array whose first element lies on a line of the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

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

}  // namespace sr::replay
