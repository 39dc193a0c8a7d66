// Arithmetic and comparisons of Sizes. Constants are computed here; others become expressions of the
// recording.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sr/base/error.hpp>
#include <sr/replay/sizes/expressions.hpp>
#include <sr/replay/sizes/size.hpp>

namespace sr::replay {

// While it lives, Sizes of this thread are expressions of these. Scopes may be nested.
class SizeScope {
 public:
  explicit SizeScope(SizeExpressions& expressions) : outer_(current_) { current_ = &expressions; }
  SizeScope(const SizeScope&) = delete;
  SizeScope& operator=(const SizeScope&) = delete;
  ~SizeScope() { current_ = outer_; }

  static SizeExpressions& current() {
    if (current_ == nullptr) throw InternalError("A size with symbols was used outside of its recording.");
    return *current_;
  }

 private:
  inline static thread_local SizeExpressions* current_ = nullptr;
  SizeExpressions* outer_;
};

inline std::int64_t Size::pin() const {
  if (!is_constant()) SizeScope::current().is_zero(*this - value_);
  return value_;
}

inline Size operator+(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.recorded() + b.recorded();
  return SizeScope::current().add(a, b, 1);
}
inline Size operator-(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.recorded() - b.recorded();
  return SizeScope::current().add(a, b, -1);
}
inline Size operator*(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.recorded() * b.recorded();
  return SizeScope::current().multiply(a, b);
}
inline Size operator/(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return floor_divide(a.recorded(), b.recorded());
  return SizeScope::current().divide(a, b);
}
inline Size operator%(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant())
    return a.recorded() - b.recorded() * floor_divide(a.recorded(), b.recorded());
  return SizeScope::current().remainder(a, b);
}
inline bool operator==(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.recorded() == b.recorded();
  return Size::always_equal(a, b) || SizeScope::current().is_zero(a - b);
}
inline bool operator<(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.recorded() < b.recorded();
  return SizeScope::current().is_negative(a - b);
}
inline Size min_of(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.recorded(), b.recorded());
  return SizeScope::current().smaller(a, b);
}

}  // namespace sr::replay
