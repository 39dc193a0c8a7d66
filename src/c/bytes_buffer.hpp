// A stream on bytes of the caller, without a copy.
#pragma once

#include <cstddef>
#include <streambuf>

namespace sr::c {

// The bytes must outlive it.
class BytesBuffer final : public std::streambuf {
 public:
  BytesBuffer(const void* bytes, std::size_t size) {
    auto* const begin = static_cast<char*>(const_cast<void*>(bytes));
    setg(begin, begin, begin + size);
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base =
        from == std::ios_base::beg ? 0 : (from == std::ios_base::cur ? gptr() : egptr()) - eback();
    return seekpos(base + offset, std::ios_base::in);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode) override {
    if (position < 0 || position > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + position, egptr());
    return position;
  }
};

}  // namespace sr::c
