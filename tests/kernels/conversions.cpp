// Conversions of dtypes against plain loops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/kernel_sets.hpp"
#include "support/small_floats.hpp"

using namespace sr::kernels;
using sr::test::any_float;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;

namespace {

template <class T>
void check_to_float(const Kernels& set, Element element, const std::vector<T>& values,
                    const std::function<float(T)>& expected) {
  for (std::size_t n = 0; n <= values.size(); ++n) {
    std::vector<float> out(n + 1, -77);
    set.table.convert[static_cast<std::size_t>(element)][0](n, values.data(), out.data());
    std::size_t wrong = out[n] != -77;
    for (std::size_t i = 0; i < n; ++i) wrong += out[i] != expected(values[i]);
    CAPTURE(set.table.name, static_cast<int>(element), n);
    CHECK(wrong == 0);
  }
}

template <class T>
void check_from_float(const Kernels& set, Element element, const std::vector<float>& values,
                      const std::function<T(float)>& expected) {
  for (std::size_t n = 0; n <= values.size(); ++n) {
    std::vector<T> out(n + 1, T{77});
    set.table.convert[0][static_cast<std::size_t>(element)](n, values.data(), out.data());
    std::size_t wrong = out[n] != T{77};
    for (std::size_t i = 0; i < n; ++i) wrong += out[i] != expected(values[i]);
    CAPTURE(set.table.name, static_cast<int>(element), n);
    CHECK(wrong == 0);
  }
}

template <class T>
std::vector<T> some(std::vector<T> first) {
  std::mt19937_64 engine(3);
  while (first.size() < 70) first.push_back(static_cast<T>(engine()));
  return first;
}

struct SmallElement {
  Element element;
  sr::test::SmallFloat type;
};
constexpr SmallElement kSmallElements[]{{Element::bfloat16, sr::test::kBfloat16},
                                        {Element::float16, sr::test::kFloat16}};

}  // namespace

TEST_CASE("kernels: conversions of types", "[kernels]") {
  const std::vector<std::int64_t> longs =
      some<std::int64_t>({0, 1, -1, 16777217, INT64_MAX, INT64_MIN, 9007199254740993});
  std::vector<float> floats{0.0f,   -0.0f,  0.5f,        -0.5f,      1,          2.75f,
                            -2.75f, 1e-45f, 16777216.0f, 8388607.5f, -1234567.0f};
  while (floats.size() < 70) floats.push_back(any_float() * 1000);
  std::vector<float> all = floats;
  all[12] = kInf;
  all[13] = -kInf;
  all[14] = 3.4e38f;
  all[15] = std::bit_cast<float>(0x3f808000u);  // a tie, to even
  all[16] = std::bit_cast<float>(0x3f818000u);
  for (const Kernels* set : kernel_sets()) {
    check_to_float<std::int64_t>(*set, Element::int64, longs,
                                 [](std::int64_t x) { return static_cast<float>(x); });
    check_to_float<std::int32_t>(*set, Element::int32,
                                 some<std::int32_t>({0, -1, 16777217, INT32_MAX, INT32_MIN}),
                                 [](std::int32_t x) { return static_cast<float>(x); });
    check_to_float<std::int16_t>(*set, Element::int16, some<std::int16_t>({}),
                                 [](std::int16_t x) { return static_cast<float>(x); });
    check_to_float<std::int8_t>(*set, Element::int8, some<std::int8_t>({}),
                                [](std::int8_t x) { return static_cast<float>(x); });
    check_to_float<std::uint8_t>(*set, Element::uint8, some<std::uint8_t>({}),
                                 [](std::uint8_t x) { return static_cast<float>(x); });
    check_to_float<std::uint8_t>(*set, Element::boolean, some<std::uint8_t>({0, 1, 255}),
                                 [](std::uint8_t x) { return x != 0 ? 1.0f : 0.0f; });
    std::vector<double> doubles(all.begin(), all.end());
    doubles[3] = 0.1;
    check_to_float<double>(*set, Element::float64, doubles, [](double x) { return static_cast<float>(x); });
    for (const SmallElement& small : kSmallElements) {
      const auto finite = [&](std::uint16_t x) {
        return static_cast<std::uint16_t>((x & 0x7fff) < small.type.infinity() ? x : x & 0x8fff);
      };
      std::vector<std::uint16_t> halves = some<std::uint16_t>({0, 0x8000, 0x3f80, 1, 0x8001, 0x4049, 0x3c00});
      std::ranges::transform(halves, halves.begin(), finite);
      halves[20] = static_cast<std::uint16_t>(small.type.infinity());
      check_to_float<std::uint16_t>(*set, small.element, halves, [&](std::uint16_t x) {
        return static_cast<float>(sr::test::value_of(small.type, x));
      });
    }
    check_from_float<std::int64_t>(*set, Element::int64, floats,
                                   [](float x) { return static_cast<std::int64_t>(x); });
    check_from_float<std::int32_t>(*set, Element::int32, floats,
                                   [](float x) { return static_cast<std::int32_t>(x); });
    // The low bits of a 32-bit integer.
    check_from_float<std::int16_t>(*set, Element::int16, floats, [](float x) {
      return static_cast<std::int16_t>(static_cast<std::int32_t>(x));
    });
    check_from_float<std::int8_t>(*set, Element::int8, floats, [](float x) {
      return static_cast<std::int8_t>(static_cast<std::int32_t>(x));
    });
    check_from_float<std::uint8_t>(*set, Element::uint8, floats, [](float x) {
      return static_cast<std::uint8_t>(static_cast<std::int32_t>(x));
    });
    check_from_float<double>(*set, Element::float64, all, [](float x) { return double{x}; });
    check_from_float<std::uint8_t>(*set, Element::boolean, all,
                                   [](float x) { return static_cast<std::uint8_t>(x != 0); });
    for (const SmallElement& small : kSmallElements) {
      check_from_float<std::uint16_t>(*set, small.element, all, [&](float x) {
        return sr::test::bits_of(small.type, sr::test::nearest(small.type, x));
      });
    }
    const float nan = kNaN;
    std::uint8_t truth = 0;
    set->table.convert[0][static_cast<std::size_t>(Element::boolean)](1, &nan, &truth);
    CHECK(truth == 1);
  }
}

TEST_CASE("kernels: every float of 16 bits, and the borders at which floats are rounded to it", "[kernels]") {
  constexpr std::size_t kAll = std::size_t{1} << 16;
  for (const Kernels* set : kernel_sets()) {
    for (const SmallElement& small : kSmallElements) {
      CAPTURE(set->table.name, small.type.digits);
      const auto element = static_cast<std::size_t>(small.element);
      std::vector<std::uint16_t> halves(kAll), back(kAll);
      std::iota(halves.begin(), halves.end(), std::uint16_t{0});
      std::vector<float> floats(kAll);
      set->table.convert[element][0](kAll, halves.data(), floats.data());
      set->table.convert[0][element](kAll, floats.data(), back.data());
      std::size_t wrong = 0;
      std::vector<float> borders;
      for (std::size_t i = 0; i < kAll; ++i) {
        const bool is_nan = (halves[i] & 0x7fff) > small.type.infinity();
        const auto expected = static_cast<float>(sr::test::value_of(small.type, halves[i]));
        if (is_nan) {
          wrong += !std::isnan(floats[i]) || (back[i] & 0x7fff) <= small.type.infinity();
          continue;
        }
        wrong += std::bit_cast<std::uint32_t>(floats[i]) != std::bit_cast<std::uint32_t>(expected);
        wrong += back[i] != halves[i];
        const auto next = static_cast<std::uint16_t>(halves[i] + 1);
        const double above = std::isinf(expected) ? double{expected}
                             : (next & 0x7fff) == small.type.infinity()
                                 ? std::copysign(std::ldexp(1.0, small.type.bias + 1), expected)
                                 : sr::test::value_of(small.type, next);
        const auto middle = static_cast<float>((expected + above) / 2);
        for (const float border :
             {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, above > 0 ? kInf : -kInf)})
          borders.push_back(border);
      }
      CHECK(wrong == 0);
      std::vector<std::uint16_t> rounded(borders.size());
      set->table.convert[0][element](borders.size(), borders.data(), rounded.data());
      wrong = 0;
      for (std::size_t i = 0; i < borders.size(); ++i)
        wrong += rounded[i] != sr::test::bits_of(small.type, sr::test::nearest(small.type, borders[i]));
      CHECK(wrong == 0);
    }
  }
}
