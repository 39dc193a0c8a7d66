// Reads an argument as `--shape` describes it: "f32[8,50]", "i64[8]:0..999", "int:5".
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <sr/error.hpp>
#include <sr/frontend/pickle/scalar_type_names.hpp>

namespace sr::tool {

// Throws ArgumentError with the position of what it does not understand. The text must outlive the reader.
class ArgumentSpec {
 public:
  ArgumentSpec(std::string_view spec, at::Generator generator)
      : spec_(spec), generator_(generator.defined() ? std::optional(std::move(generator)) : std::nullopt) {}

  c10::IValue read() {
    if (spec_ == "none") return {};
    const std::size_t colon = spec_.find(':'), bracket = spec_.find('[');
    if (colon < bracket) return scalar(spec_.substr(0, colon), colon + 1);
    const auto* type = detail::find_scalar_type(&detail::ScalarTypeName::spec,
                                                spec_.substr(0, std::min(bracket, spec_.size())));
    if (spec_.empty() || type == nullptr || type->spec.empty()) {
      fail(0, "one of f16, bf16, f32, f64, i8, u8, i16, i32, i64, bool, int:, float:, str:, none");
    }
    if (bracket == std::string_view::npos) fail(spec_.size(), "'[' and the sizes");
    std::size_t at = bracket + 1;
    const std::vector<std::int64_t> sizes = read_sizes(at);
    if (at == spec_.size()) return tensor(*type, sizes);
    if (spec_[at] != ':') fail(at, "':' and a range, or nothing");
    return tensor_between(*type, sizes, at + 1);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& expected) const {
    throw ArgumentError("The argument '" + std::string(spec_) + "' is wrong at position " +
                        std::to_string(at + 1) + ": " + expected +
                        " was expected there. Right are for example f32[8,50], i64[8]:0..999, f32[2,3]:0..1, "
                        "f32[], int:5, float:0.5, bool:true, str:abc, none.");
  }

  // All of spec_[begin, end) as a number.
  template <class Number>
  Number number(std::size_t begin, std::size_t end, const char* expected) const {
    Number value{};
    const auto [stop, error] = std::from_chars(spec_.data() + begin, spec_.data() + end, value);
    if (error != std::errc{}) fail(begin, expected);
    if (stop != spec_.data() + end) fail(static_cast<std::size_t>(stop - spec_.data()), expected);
    return value;
  }

  double real(std::size_t begin, std::size_t end) const {
    return number<double>(begin, end, "a number such as 0.5");
  }
  std::int64_t integer(std::size_t begin, std::size_t end) const {
    return number<std::int64_t>(begin, end, "a whole number of 64 bits");
  }

  c10::IValue scalar(std::string_view kind, std::size_t at) const {
    if (kind == "int") return integer(at, spec_.size());
    if (kind == "float") return real(at, spec_.size());
    if (kind == "str") return std::string(spec_.substr(at));
    if (kind == "bool") {
      if (spec_.substr(at) == "true") return true;
      if (spec_.substr(at) == "false") return false;
      fail(at, "true or false");
    }
    if (detail::find_scalar_type(&detail::ScalarTypeName::spec, kind) != nullptr && !kind.empty())
      fail(kind.size(), "'[' and the sizes");
    fail(0, "int:, float:, bool:, str: or a dtype with sizes");
  }

  // From behind the '[' to behind the ']'.
  std::vector<std::int64_t> read_sizes(std::size_t& at) const {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    std::vector<std::int64_t> sizes;
    const std::size_t close = spec_.find(']', at);
    if (close == std::string_view::npos) fail(spec_.size(), "']'");
    std::int64_t elements = 1;
    while (at < close) {
      const std::size_t end = std::min(spec_.find(',', at), close);
      const auto size = number<std::int64_t>(at, end, "a size");
      if (size < 0) fail(at, "a size that is not negative");
      if (size > most || (size > 0 && elements > most / size))
        fail(at, "a size that leaves less than 2^40 elements");
      elements *= std::max<std::int64_t>(size, 1);
      sizes.push_back(size);
      if (end < close && end + 1 == close) fail(close, "a size");
      at = end + (end < close ? 1 : 0);
    }
    ++at;
    return sizes;
  }

  static bool is_floating(const detail::ScalarTypeName& type) { return c10::isFloatingType(type.type); }
  static at::ScalarType drawn_as(const detail::ScalarTypeName& type) {
    return type.type == at::kDouble ? at::kDouble : at::kFloat;
  }

  at::Tensor tensor(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes) const {
    if (!is_floating(type)) return whole_numbers(type, sizes, 0, type.type == at::kBool ? 1 : 9);
    return at::empty(sizes, drawn_as(type)).normal_(0, 1, generator_).to(type.type);
  }

  at::Tensor whole_numbers(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes,
                           std::int64_t low, std::int64_t high) const {
    at::Tensor values = at::empty(sizes, at::kLong);
    const bool open =
        high == std::numeric_limits<std::int64_t>::max();  // random_ without an end includes the last
    return values.random_(low, open ? std::nullopt : std::optional(high + 1), generator_).to(type.type);
  }

  at::Tensor tensor_between(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes,
                            std::size_t at) const {
    const std::size_t dots = spec_.find("..", at);
    if (dots == std::string_view::npos) fail(at, "a range such as 0..9");
    if (!is_floating(type)) {
      const std::int64_t low = integer(at, dots), high = integer(dots + 2, spec_.size());
      const auto [least, most] = limits(type.type);
      if (low < least || low > most) fail(at, "a number that " + std::string(type.spec) + " can hold");
      if (high < low) fail(dots + 2, "an end that is not below the begin");
      if (high > most) fail(dots + 2, "a number that " + std::string(type.spec) + " can hold");
      return whole_numbers(type, sizes, low, high);
    }
    const double low = real(at, dots), high = real(dots + 2, spec_.size());
    const double most = type.type == at::kHalf ? 65504.0 : type.type == at::kDouble ? 1e308 : 3e38;
    if (!(std::abs(low) <= most)) fail(at, "a finite number that " + std::string(type.spec) + " can hold");
    if (!(high >= low)) fail(dots + 2, "an end that is not below the begin");
    if (!(high <= most) || !(high - low <= most)) {
      fail(dots + 2,
           "a finite number that " + std::string(type.spec) + " can hold, also its distance from the begin,");
    }
    return at::empty(sizes, drawn_as(type)).uniform_(low, high, generator_).to(type.type);
  }

  static std::pair<std::int64_t, std::int64_t> limits(at::ScalarType type) {
    switch (type) {
      case at::kBool:
        return {0, 1};
      case at::kByte:
        return {0, 255};
      case at::kChar:
        return {-128, 127};
      case at::kShort:
        return {-32768, 32767};
      case at::kInt:
        return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
      default:
        return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    }
  }

  std::string_view spec_;
  std::optional<at::Generator> generator_;
};

}  // namespace sr::tool
