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

}  // namespace sr
