// Integers of a recorded call that know how they depend on the sizes of its arguments.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>

#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

namespace sr::replay {

// A size, stride, offset or count: its value in the recorded call, and an expression in symbols, which stand
// for sizes that vary between calls. Arithmetic makes expressions, which the SizeExpressions of the thread's
// SizeScope hold. Comparisons answer for the recorded call; where other values of the symbols could lead to
// another answer, the condition becomes a guard. Constants need no scope. There is no conversion to an
// integer: a number that code depends on is pinned, compared, or kept as a Size in a step.
class Size {
 public:
  using Id = std::uint32_t;
  static constexpr Id kConstant = 0;

  constexpr Size() = default;
  template <std::integral Integer>
  constexpr Size(Integer value)
      : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  // For SizeExpressions.
  constexpr Size(std::int64_t value, Id expression) : value_(value), id_(expression) {}

  constexpr bool is_constant() const { return id_ == kConstant; }
  // The value in the recorded call: for messages, and to compare with what LibTorch returned.
  constexpr std::int64_t recorded() const { return value_; }
  constexpr Id id() const { return id_; }

  // The value, which from now on is a condition for calls that the recording serves.
  std::int64_t pin() const;

  // True if both are equal for all values of the symbols. A no may be wrong. Notes no guard, so that programs
  // do not depend on sizes that are equal by accident.
  static bool always_equal(const Size& a, const Size& b) { return a.id_ == b.id_ && a.value_ == b.value_; }

  // Two sizes are always equal if and only if these are.
  using Identity = std::pair<std::int64_t, Id>;
  Identity identity() const { return {value_, id_}; }

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  // Rounded down. The divisor must not be 0.
  friend Size operator/(const Size& a, const Size& b);
  // With the sign of the divisor, which must not be 0.
  friend Size operator%(const Size& a, const Size& b);
  Size operator-() const { return Size(0) - *this; }
  Size& operator+=(const Size& other) { return *this = *this + other; }
  Size& operator-=(const Size& other) { return *this = *this - other; }
  Size& operator*=(const Size& other) { return *this = *this * other; }
  Size& operator/=(const Size& other) { return *this = *this / other; }

  friend bool operator==(const Size& a, const Size& b);
  friend bool operator<(const Size& a, const Size& b);
  friend bool operator!=(const Size& a, const Size& b) { return !(a == b); }
  friend bool operator>(const Size& a, const Size& b) { return b < a; }
  friend bool operator<=(const Size& a, const Size& b) { return !(b < a); }
  friend bool operator>=(const Size& a, const Size& b) { return !(a < b); }

 private:
  std::int64_t value_ = 0;
  Id id_ = kConstant;
};

// The smaller one of every call; std::min would choose for all calls what is smaller in the recorded one.
Size min_of(const Size& a, const Size& b);

using Dims = c10::SmallVector<Size, 4>;
using Numbers = c10::SmallVector<std::int64_t, 4>;  // the same in one call

inline Size product_of(c10::ArrayRef<Size> sizes) {
  Size product = 1;
  for (const Size& size : sizes) product *= size;
  return product;
}

// Sizes that were read from a tensor, and do not vary.
inline Dims constant_dims(c10::ArrayRef<std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

// The values in the recorded call. Nothing is pinned: the caller must not decide anything by these values
// that would be wrong for other calls.
inline Numbers recorded(c10::ArrayRef<Size> sizes) {
  Numbers numbers;
  for (const Size& size : sizes) numbers.push_back(size.recorded());
  return numbers;
}

// True if a size differs between calls.
inline bool varies(c10::ArrayRef<Size> sizes) {
  return std::ranges::any_of(sizes, [](const Size& size) { return !size.is_constant(); });
}
// True if a size or a stride of a tensor differs between calls.
inline bool varies(c10::ArrayRef<Size> sizes, c10::ArrayRef<Size> strides) {
  return varies(sizes) || varies(strides);
}

// The sizes, each pinned.
inline Numbers pinned(c10::ArrayRef<Size> sizes) {
  Numbers numbers;
  for (const Size& size : sizes) numbers.push_back(size.pin());
  return numbers;
}

// See Size::always_equal.
inline bool always_equal(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Size::always_equal(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace sr::replay
