#include "number_list.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace sr::serve {
namespace {

[[noreturn]] void refuse(std::string_view tensor, const std::string& why) {
  throw RequestError(Status::invalid, "The data of the tensor '" + std::string(tensor) + "' has " + why);
}

// Calls visit(T{}), where T is the C++ type of the elements. The datatype must be one of kDatatypes.
template <class Visit>
void with_type(std::string_view datatype, const Visit& visit) {
  if (datatype == "FP32") return visit(float{});
  if (datatype == "FP64") return visit(double{});
  if (datatype == "FP16") return visit(c10::Half{});
  if (datatype == "BF16") return visit(c10::BFloat16{});
  if (datatype == "BOOL") return visit(bool{});
  if (datatype == "INT8") return visit(std::int8_t{});
  if (datatype == "INT16") return visit(std::int16_t{});
  if (datatype == "INT32") return visit(std::int32_t{});
  if (datatype == "INT64") return visit(std::int64_t{});
  if (datatype == "UINT8") return visit(std::uint8_t{});
  if (datatype == "UINT16") return visit(std::uint16_t{});
  if (datatype == "UINT32") return visit(std::uint32_t{});
  visit(std::uint64_t{});
}

// Converts a number as LibTorch does: a double is rounded to float before it becomes a 16-bit float.
template <class T>
T as_real(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}
double as_unsigned(std::int64_t bits) {
  return static_cast<double>(static_cast<std::uint64_t>(bits));
}

template <class T>
bool fits(std::int64_t value, bool is_large) {
  if constexpr (std::is_same_v<T, bool>) {
    return value == 0 || value == 1;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return is_large || value >= 0;
  } else {
    return !is_large && value >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
           value <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
  }
}

template <class T>
void append_number(std::string& json, T value) {
  std::array<char, 32> digits{};
  if constexpr (std::is_same_v<T, bool>) {
    json += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    json.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  } else {
    const std::conditional_t<std::is_same_v<T, double>, double, float> real = value;
    if (!std::isfinite(real)) {
      json += "null";
    } else {
      json.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), real).ptr);
    }
  }
}

}  // namespace

void NumberList::add(double value) {
  if (!holds_reals_) {
    holds_reals_ = true;
    reals_.reserve(integers_.size() + 1);
    for (const std::int64_t integer : integers_)
      reals_.push_back(has_large_ && integer < 0 ? as_unsigned(integer) : static_cast<double>(integer));
    integers_.clear();
  }
  reals_.push_back(value);
}

template <class T>
T NumberList::element(std::size_t i, std::string_view tensor, std::string_view datatype) const {
  const bool is_large = !holds_reals_ && has_large_ && integers_[i] < 0;
  if constexpr (std::is_integral_v<T>) {
    if (holds_reals_) refuse(tensor, "real numbers, but its datatype is " + std::string(datatype) + ".");
    if (!fits<T>(integers_[i], is_large)) {
      const std::string number =
          is_large ? std::to_string(static_cast<std::uint64_t>(integers_[i])) : std::to_string(integers_[i]);
      refuse(tensor, "the number " + number + ", which " + std::string(datatype) + " cannot hold.");
    }
    return static_cast<T>(integers_[i]);
  } else {
    if (holds_reals_) return as_real<T>(reals_[i]);
    return as_real<T>(is_large ? as_unsigned(integers_[i]) : static_cast<double>(integers_[i]));
  }
}

std::string NumberList::to_bytes(std::string_view tensor, std::string_view datatype,
                                 const std::vector<std::int64_t>& shape) const {
  const std::size_t width = require_datatype(tensor, datatype).bytes;
  const auto count = static_cast<std::size_t>(count_of(tensor, shape));
  const std::size_t found = holds_reals_ ? reals_.size() : integers_.size();
  if (found != count)
    refuse(tensor, std::to_string(found) + " elements, but its shape needs " + std::to_string(count) + ".");
  std::string bytes(count * width, '\0');
  with_type(datatype, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = element<T>(i, tensor, datatype);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

void append_numbers(std::string& json, const WireTensor& tensor) {
  json += '[';
  with_type(tensor.datatype, [&]<class T>(T) {
    for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof(T));
      if (at != 0) json += ',';
      append_number(json, value);
    }
  });
  json += ']';
}

}  // namespace sr::serve
