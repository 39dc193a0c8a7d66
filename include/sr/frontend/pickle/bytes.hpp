// Numbers and text in the bytes of a pickle.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sr/frontend/pickle/stored_tensors.hpp>

namespace sr::detail {

// Reads from the front. Throws LoadError, which names the file, where a value is cut short or too large.
class PickleBytes {
 public:
  // Both must outlive the reader.
  PickleBytes(const PickleArchive& archive, std::span<const std::byte> pickle)
      : archive_(archive), rest_(reinterpret_cast<const char*>(pickle.data()), pickle.size()) {}

  std::string_view rest() const { return rest_; }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) archive_.reject("its pickle ends in the middle of a value");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  // Little-endian, of `width` bytes.
  std::uint64_t number(unsigned width) {
    const std::string_view bytes = take(width);
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  // In two's complement, of any width.
  std::int64_t long_integer(std::uint64_t width) {
    const std::string_view bytes = take(width);
    const char sign = !bytes.empty() && (bytes.back() & 0x80) != 0 ? '\xff' : '\0';
    std::uint64_t value = sign != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      if (i >= 8 && bytes[i] != sign) archive_.reject("an integer in it takes more than 64 bits");
      if (i < 8) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    const auto result = static_cast<std::int64_t>(value);
    if ((result < 0) != (sign != 0)) archive_.reject("an integer in it takes more than 64 bits");
    return result;
  }

  // Big-endian.
  double real() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    return std::bit_cast<double>(bits);
  }

  // Without its end.
  std::string line() {
    const auto end = rest_.find('\n');
    const std::string text(take(end == std::string_view::npos ? rest_.size() + 1 : end));
    rest_.remove_prefix(1);
    return text;
  }

 private:
  const PickleArchive& archive_;
  std::string_view rest_;
};

}  // namespace sr::detail
