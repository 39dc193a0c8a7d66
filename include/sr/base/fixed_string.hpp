// A string literal as a template argument.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sr {

template <std::size_t N>
struct FixedString {
  char text[N]{};

  // NOLINTNEXTLINE(google-explicit-constructor): a literal in angle brackets has to convert by itself.
  constexpr FixedString(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
  constexpr bool operator==(const FixedString&) const = default;
};

template <std::size_t N, std::size_t M>
consteval FixedString<N + M - 1> operator+(const FixedString<N>& first, const FixedString<M>& second) {
  char text[N + M - 1]{};
  std::copy_n(first.text, N - 1, text);
  std::copy_n(second.text, M, text + N - 1);
  return FixedString<N + M - 1>(text);
}
template <std::size_t N, std::size_t M>
consteval FixedString<N + M - 1> operator+(const FixedString<N>& first, const char (&second)[M]) {
  return first + FixedString<M>(second);
}
template <std::size_t N, std::size_t M>
consteval FixedString<N + M - 1> operator+(const char (&first)[N], const FixedString<M>& second) {
  return FixedString<N>(first) + second;
}

}  // namespace sr
