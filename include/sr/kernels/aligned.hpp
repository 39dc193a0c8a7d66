// An array whose first element lies on a line of the cache, and in large pages if it fills some.
#pragma once

#include <cstddef>

#include <sr/base/large_pages.hpp>

namespace sr::replay {

template <class T>
struct Aligned {
  explicit Aligned(std::size_t size)
      : count(size), memory(size * sizeof(T)), data(static_cast<T*>(memory.data())) {}
  std::size_t bytes() const { return count * sizeof(T); }

  std::size_t count;
  sr::detail::LineMemory memory;
  T* data;
};
using AlignedFloats = Aligned<float>;

}  // namespace sr::replay
