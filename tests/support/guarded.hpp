// Memory that ends at an inaccessible page, for kernels.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace sr::test {

// Any part that ends at the inaccessible page may be requested.
class Guarded {
 public:
  static constexpr unsigned char kCanary = 0xCB;
  static constexpr std::size_t kWatched = 256;  // bytes in front

  explicit Guarded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + page - 1) / page * page + page;
    begin_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
    mapped_ = bytes_ + page;
    mprotect(begin_ + bytes_, page, PROT_NONE);
    std::memset(begin_, kCanary, bytes_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(begin_, mapped_); }

  template <class T = float>
  T* last(std::size_t count) {
    return reinterpret_cast<T*>(begin_ + bytes_) - count;
  }
  // True if the bytes in front of the last `count` elements are unchanged.
  template <class T = float>
  bool intact_before(std::size_t count) {
    const unsigned char* to = begin_ + bytes_ - count * sizeof(T);
    for (const unsigned char* at = to - kWatched; at != to; ++at) {
      if (*at != kCanary) return false;
    }
    return true;
  }
  void reset() { std::memset(begin_, kCanary, bytes_); }

 private:
  unsigned char* begin_;
  std::size_t bytes_ = 0, mapped_ = 0;
};

}  // namespace sr::test
