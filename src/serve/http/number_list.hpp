// Numbers in JSON and as elements of a datatype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../protocol/message.hpp"

namespace sr::serve {

// The numbers of a JSON array, before the datatype that they belong to is known.
class NumberList {
 public:
  void add(std::int64_t value) {
    if (holds_reals_) return reals_.push_back(static_cast<double>(value));
    integers_.push_back(value);
  }
  void add(std::uint64_t value) {
    if (holds_reals_) return reals_.push_back(static_cast<double>(value));
    has_large_ |= value > INT64_MAX;
    integers_.push_back(static_cast<std::int64_t>(value));
  }
  void add(double value);

  // The elements as bytes. Throws RequestError if their number is not that of the shape, if a number does not
  // fit the datatype, and for real numbers where integers are expected. `tensor` is its name.
  std::string to_bytes(std::string_view tensor, std::string_view datatype,
                       const std::vector<std::int64_t>& shape) const;

 private:
  template <class T>
  T element(std::size_t i, std::string_view tensor, std::string_view datatype) const;

  bool holds_reals_ = false, has_large_ = false;
  std::vector<std::int64_t> integers_;  // those above the largest int64 as their bits, if has_large_
  std::vector<double> reals_;
};

// Appends the elements as a JSON array, in row-major order. Elements that are no finite numbers are null,
// since JSON has no other word for them.
void append_numbers(std::string& json, const WireTensor& tensor);

}  // namespace sr::serve
