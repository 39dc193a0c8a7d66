// Conversions between element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sr/kernels/bfloat16.hpp>
#include <sr/kernels/float16.hpp>
#include <sr/kernels/isa.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// A bool in memory: a byte, of which any value but 0 is true.
struct BoolByte {
  std::uint8_t byte;
};

template <class T>
inline constexpr bool kIsFloatOf16Bits = std::is_same_v<T, Bfloat16Bits> || std::is_same_v<T, Float16Bits>;

template <class To, class From>
SR_KERNEL_INLINE To converted(From value) {
  if constexpr (std::is_same_v<From, BoolByte>) {
    return static_cast<To>(value.byte != 0 ? 1 : 0);
  } else if constexpr (kIsFloatOf16Bits<From>) {
    return static_cast<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, BoolByte>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsFloatOf16Bits<To>) {
    To rounded;
    round_to(static_cast<float>(value), rounded);
    return rounded;
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To> &&
                       sizeof(To) < sizeof(std::int32_t)) {
    return static_cast<To>(static_cast<std::int32_t>(value));  // the low bits, as LibTorch does
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
[[gnu::flatten]] void convert(std::size_t n, const void* in, void* out) {
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  std::size_t i = 0;
  // The compiler does not vectorize a loop of scalar conversion intrinsics.
  if constexpr (std::is_same_v<From, Float16Bits> && std::is_same_v<To, float>) {
    for (; i + kWidth <= n; i += kWidth) load_widened(from + i).store(to + i);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Float16Bits>) {
    for (; i + kWidth <= n; i += kWidth) store_rounded(Vec::load(from + i), to + i, Full{});
  }
  for (; i < n; ++i) to[i] = converted<To>(from[i]);
}

// Converts to the types that kernels compute in, and from those to types that can hold them. Of small
// integers, which C++ does not define for values that do not fit, those from floats.
template <class From>
consteval std::array<Convert, kElements> conversions_from() {
  constexpr bool is_computed =
      std::is_same_v<From, float> || std::is_same_v<From, double> || std::is_same_v<From, std::int64_t>;
  std::array<Convert, kElements> to{};
  const auto at = [&](Element element) -> Convert& { return to[static_cast<std::size_t>(element)]; };
  at(Element::float32) = convert<From, float>;
  at(Element::float64) = convert<From, double>;
  at(Element::int64) = convert<From, std::int64_t>;
  if constexpr (is_computed) {
    at(Element::boolean) = convert<From, BoolByte>;
    at(Element::bfloat16) = convert<From, Bfloat16Bits>;
    at(Element::float16) = convert<From, Float16Bits>;
    at(Element::int32) = convert<From, std::int32_t>;
  }
  if constexpr (std::is_same_v<From, float>) {
    at(Element::uint8) = convert<float, std::uint8_t>;
    at(Element::int8) = convert<float, std::int8_t>;
    at(Element::int16) = convert<float, std::int16_t>;
  }
  return to;
}

// In the order of Element.
inline constexpr Conversions kConversions{conversions_from<float>(),        conversions_from<BoolByte>(),
                                          conversions_from<std::uint8_t>(), conversions_from<std::int8_t>(),
                                          conversions_from<std::int16_t>(), conversions_from<std::int32_t>(),
                                          conversions_from<std::int64_t>(), conversions_from<Bfloat16Bits>(),
                                          conversions_from<Float16Bits>(),  conversions_from<double>()};

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
