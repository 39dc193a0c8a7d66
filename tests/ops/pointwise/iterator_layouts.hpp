// The dtypes and layouts on which bound iterators are tested.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

namespace sr::test::iterators_tests {

inline constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong,
                                             at::kInt,   at::kShort,  at::kChar, at::kByte,     at::kBool};

inline at::Tensor values(at::IntArrayRef sizes, at::ScalarType dtype) {
  if (dtype == at::kBool) return at::randint(0, 2, sizes).to(at::kBool);
  // No zeros among whole numbers, since some operators divide by them.
  if (at::isIntegralType(dtype, false))
    return (at::randint(1, 6, sizes) * (at::randint(0, 2, sizes) * 2 - 1)).to(dtype);
  at::Tensor made = (at::randn(sizes, at::kDouble) * 1.5).to(dtype);
  if (made.numel() >= 50) {
    const at::Tensor flat = made.view({-1});
    flat[3] = INFINITY;
    flat[11] = -INFINITY;
    flat[17] = NAN;
    flat[20] = 0.0;
    flat[21] = -0.0;
    flat[30] = 1.0;
  }
  return made;
}

// Every call makes new data.
using Maker = at::Tensor (*)(at::ScalarType dtype);
inline const std::pair<const char*, std::array<Maker, 3>> kLayouts[] = {
    {"70 elements",
     {[](at::ScalarType t) {
        return values({7, 10}, t);
      },
      [](at::ScalarType t) {
        return values({7, 10}, t);
      },
      [](at::ScalarType t) {
        return values({7, 10}, t);
      }}},
    {"one row",
     {[](at::ScalarType t) {
        return values({1, 50}, t);
      },
      [](at::ScalarType t) {
        return values({1, 50}, t);
      },
      [](at::ScalarType t) { return values({50}, t); }}},
    {"transposed",
     {[](at::ScalarType t) {
        return values({9, 13}, t).t();
      },
      [](at::ScalarType t) {
        return values({9, 13}, t).t();
      },
      [](at::ScalarType t) {
        return values({13, 9}, t);
      }}},
    {"one transposed",
     {[](at::ScalarType t) {
        return values({13, 9}, t);
      },
      [](at::ScalarType t) {
        return values({9, 13}, t).t();
      },
      [](at::ScalarType t) {
        return values({9, 13}, t).t();
      }}},
    {"broadcast",
     {[](at::ScalarType t) {
        return values({5, 1, 8}, t);
      },
      [](at::ScalarType t) {
        return values({6, 1}, t);
      },
      [](at::ScalarType t) { return values({8}, t); }}},
    {"expanded, stepped",
     {[](at::ScalarType t) {
        return values({70}, t).expand({3, 70});
      },
      [](at::ScalarType t) {
        return values({3, 140}, t).slice(1, 1, 140, 2);
      },
      [](at::ScalarType t) {
        return values({3, 1}, t).expand({3, 70});
      }}},
    {"number on the right",
     {[](at::ScalarType t) {
        return values({7, 10}, t);
      },
      [](at::ScalarType t) { return values({}, t); }, [](at::ScalarType t) { return values({}, t); }}},
    {"number on the left",
     {[](at::ScalarType t) { return values({}, t); }, [](at::ScalarType t) { return values({64}, t); },
      [](at::ScalarType t) { return values({1}, t); }}},
    {"no dimensions",
     {[](at::ScalarType t) { return values({}, t); }, [](at::ScalarType t) { return values({}, t); },
      [](at::ScalarType t) { return values({}, t); }}},
    {"one element",
     {[](at::ScalarType t) { return values({1}, t); },
      [](at::ScalarType t) {
        return values({1, 1}, t);
      },
      [](at::ScalarType t) { return values({}, t); }}},
    {"channels last",
     {[](at::ScalarType t) {
        return values({2, 3, 4, 5}, t).contiguous(at::MemoryFormat::ChannelsLast);
      },
      [](at::ScalarType t) {
        return values({2, 3, 4, 5}, t).contiguous(at::MemoryFormat::ChannelsLast);
      },
      [](at::ScalarType t) {
        return values({3, 1, 1}, t);
      }}},
    {"40,000 elements",
     {[](at::ScalarType t) {
        return values({200, 200}, t);
      },
      [](at::ScalarType t) {
        return values({200, 200}, t);
      },
      [](at::ScalarType t) { return values({200}, t); }}},
    {"40,000 transposed",
     {[](at::ScalarType t) {
        return values({100, 400}, t).t();
      },
      [](at::ScalarType t) { return values({100}, t); },
      [](at::ScalarType t) {
        return values({400, 1}, t);
      }}},
    {"none",
     {[](at::ScalarType t) {
        return values({0, 3}, t);
      },
      [](at::ScalarType t) {
        return values({0, 3}, t);
      },
      [](at::ScalarType t) { return values({3}, t); }}},
};

}  // namespace sr::test::iterators_tests
