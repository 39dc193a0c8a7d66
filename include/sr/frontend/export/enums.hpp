// The numbers of dtypes, layouts and memory formats in the export schema, which differ from ATen's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <sr/frontend/export/json.hpp>

namespace sr::exported {

namespace detail {

template <class Value, std::size_t Count>
Value enumerator(const Json& number, const std::pair<int, Value> (&table)[Count], const std::string& where,
                 const char* kind) {
  const std::int64_t given = as_int(number, where);
  for (const auto& [key, value] : table) {
    if (key == given) return value;
  }
  malformed(where, std::string("names a ") + kind + " by the unknown number " + std::to_string(given));
}

}  // namespace detail

inline c10::ScalarType scalar_type_of(const Json& number, const std::string& where) {
  using enum c10::ScalarType;
  static constexpr std::pair<int, c10::ScalarType> kTable[] = {
      {1, Byte},
      {2, Char},
      {3, Short},
      {4, Int},
      {5, Long},
      {6, Half},
      {7, Float},
      {8, Double},
      {9, ComplexHalf},
      {10, ComplexFloat},
      {11, ComplexDouble},
      {12, Bool},
      {13, BFloat16},
      {28, UInt16},
      {29, Float8_e4m3fn},
      {30, Float8_e5m2},
      {31, Float8_e4m3fnuz},
      {32, Float8_e5m2fnuz},
      {33, Float8_e8m0fnu},
      {34, UInt32},
      {35, UInt64},
  };
  return detail::enumerator(number, kTable, where, "dtype");
}

inline c10::Layout layout_of(const Json& number, const std::string& where) {
  using enum c10::Layout;
  static constexpr std::pair<int, c10::Layout> kTable[] = {
      {1, Sparse}, {2, SparseCsr}, {3, SparseCsc}, {4, SparseBsr}, {5, SparseBsc}, {6, Mkldnn}, {7, Strided},
  };
  return detail::enumerator(number, kTable, where, "layout");
}

inline c10::MemoryFormat memory_format_of(const Json& number, const std::string& where) {
  using enum c10::MemoryFormat;
  static constexpr std::pair<int, c10::MemoryFormat> kTable[] = {
      {1, Contiguous}, {2, ChannelsLast}, {3, ChannelsLast3d}, {4, Preserve}};
  return detail::enumerator(number, kTable, where, "memory format");
}

}  // namespace sr::exported
