// Read by clang-tidy alone, before everything: clang 14 lacks the builtin that libstdc++ makes
// std::source_location of.
#pragma once

#include <cstdint>

#if defined(__clang__) && __clang_major__ < 15
namespace std {  // NOLINT
struct source_location {
  const char* file = "";
  const char* function = "";
  std::uint_least32_t row = 0;
  static constexpr source_location current(const char* file = __builtin_FILE(),
                                           const char* function = __builtin_FUNCTION(),
                                           std::uint_least32_t row = __builtin_LINE()) {
    return {file, function, row};
  }
  constexpr const char* file_name() const { return file; }
  constexpr const char* function_name() const { return function; }
  constexpr std::uint_least32_t line() const { return row; }
  constexpr std::uint_least32_t column() const { return 0; }
};
}  // namespace std
#endif
