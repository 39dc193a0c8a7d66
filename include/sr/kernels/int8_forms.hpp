// Which forms of products of 8-bit integers this CPU can run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {

struct Int8Form {
  const char* name = nullptr;  // of the instructions
  void (*multiply)(const Int8Gemm& product) = nullptr;
  void (*multiply_grouped)(const Int8GroupedGemm& product) = nullptr;
  bool is_fast = false;  // takes a quarter of the time of as many floats, or less
  // Kernels of images; null where the form has none.
  void (*windows)(const Int8Windows& all) = nullptr;
  void (*depthwise)(const Int8Depthwise& all) = nullptr;
};

namespace detail {

// Compares the sums that both functions compute for one product. Its sizes are not multiples of a tile.
inline bool agree(const Table& table, void (*one)(const Int8Gemm& product),
                  void (*other)(const Int8Gemm& product)) {
  constexpr std::size_t kM = 37, kN = 75, kK = 203;
  std::vector<std::int8_t> b(kN * kK);
  std::vector<std::uint8_t> a(kM * kK), packed(table.packed_int8_bytes(kN, kK) + 64);
  std::uint32_t bits = 1;
  const auto next = [&] { return static_cast<std::uint8_t>((bits = bits * 1664525 + 1013904223) >> 24); };
  for (std::int8_t& value : b) value = static_cast<std::int8_t>(next());
  for (std::uint8_t& value : a) value = next();
  std::uint8_t* const aligned =
      packed.data() + (64 - reinterpret_cast<std::uintptr_t>(packed.data()) % 64) % 64;
  table.pack_int8(kN, kK, b.data(), 1, kK, aligned);
  for (const bool is_signed : {false, true}) {
    std::vector<std::int32_t> sums[2];
    for (auto& into : sums) {
      into.assign(kM * kN, 0);
      Int8Gemm product{.m = kM, .n = kN, .k = kK, .end_column = kN, .a = a.data(), .a_row = kK, .b = aligned};
      product.a_signed = is_signed;
      product.sums = into.data();
      product.out_row = kN;
      (&into == sums ? one : other)(product);
    }
    if (sums[0] != sums[1]) return false;
  }
  return true;
}

}  // namespace detail

// The forms of the table that this CPU can run, the fastest last. Few processors with AVX-VNNI or AMX were at
// hand for tests, so their forms count only if they give the sums of another one here.
inline std::vector<Int8Form> int8_forms(const Table& table) {
  constexpr std::size_t kWidthOfAvx512 = 16;
  std::vector<Int8Form> forms{
      {"widened", table.int8_gemm, table.int8_grouped_gemm, false, table.int8_windows, table.int8_depthwise}};
  const bool is_avx512 = table.width == kWidthOfAvx512;
  const auto agrees = [&](void (*multiply)(const Int8Gemm& product)) {
    return detail::agree(table, table.int8_gemm, multiply);
  };
  if (table.int8_gemm_by_bytes != nullptr &&
      (is_avx512 ? has_avx512_vnni() : has_avx_vnni() && agrees(table.int8_gemm_by_bytes)))
    forms.push_back({is_avx512 ? "AVX512_VNNI" : "AVX-VNNI", table.int8_gemm_by_bytes,
                     table.int8_grouped_gemm_by_bytes, true, table.int8_windows_by_bytes,
                     table.int8_depthwise_by_bytes});
  if (forms.size() == 2 && table.int8_gemm_by_tiles != nullptr && has_amx() &&
      agrees(table.int8_gemm_by_tiles))
    forms.push_back({"AMX-INT8", table.int8_gemm_by_tiles, table.int8_grouped_gemm_by_bytes, true, nullptr,
                     table.int8_depthwise_by_bytes});
  return forms;
}

// The fastest form of the kernels in use.
inline const Int8Form& int8_form() {
  static const Int8Form form = int8_forms(kernels().table).back();
  return form;
}

}  // namespace sr::kernels
