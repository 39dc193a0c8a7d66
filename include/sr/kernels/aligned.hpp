// An array whose first element lies on a line of the cache, and in large pages if it fills some.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include <sr/base/large_pages.hpp>

namespace sr::replay {

template <class T>
struct Aligned {
  explicit Aligned(std::size_t size)
      : count(size), data(static_cast<T*>(::operator new[](std::max(bytes(), sizeof(T)), alignment()))) {
    sr::detail::prefer_large_pages(data, bytes());
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { ::operator delete[](data, alignment()); }
  std::size_t bytes() const { return count * sizeof(T); }

  std::size_t count;
  T* data;

 private:
  std::align_val_t alignment() const {
    return std::align_val_t{bytes() < sr::detail::kLargePage ? 64 : sr::detail::kLargePage};
  }
};
using AlignedFloats = Aligned<float>;

}  // namespace sr::replay
