// CRC-32 of zip, gzip and PNG (polynomial 0x04C11DB7, bits reflected). Uses carry-less multiplication if the
// processor has it (about as fast as memory), and sixteen tables otherwise.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sr {
namespace detail {

// Multiplies a reflected polynomial of degree below 32 by x, modulo the polynomial of CRC-32.
constexpr std::uint32_t crc_times_x(std::uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
}

using CrcTables = std::array<std::array<std::uint32_t, 256>, 16>;

// tables[k][b]: what byte b contributes when k more bytes follow it.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = crc_times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

inline constexpr CrcTables crc_tables = make_crc_tables();

// `state` is the complement of the checksum so far.
inline std::uint32_t crc_by_tables(std::uint32_t state, const std::byte* data, std::size_t size) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; size >= 16; data += 16, size -= 16) {
      std::array<std::uint32_t, 4> words;
      std::memcpy(words.data(), data, 16);
      words[0] ^= state;
      state = 0;
      for (std::size_t w = 0; w < 4; ++w) {
        const std::size_t first = 15 - 4 * w;
        state ^= crc_tables[first][words[w] & 0xFF] ^ crc_tables[first - 1][(words[w] >> 8) & 0xFF] ^
                 crc_tables[first - 2][(words[w] >> 16) & 0xFF] ^ crc_tables[first - 3][words[w] >> 24];
      }
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    state = (state >> 8) ^ crc_tables[0][(state ^ std::to_integer<std::uint32_t>(data[i])) & 0xFF];
  }
  return state;
}

#if defined(__x86_64__)
// x^power modulo the polynomial, laid out for a multiplication of reflected operands.
constexpr long long crc_fold_constant(int power) {
  std::uint32_t value = 0x80000000U;
  for (int i = 0; i < power; ++i) value = crc_times_x(value);
  return static_cast<long long>(value) << 1;
}

// Carries one 16-byte block forward over the distance that `constants` stands for.
[[gnu::target("pclmul,sse4.1")]] inline __m128i crc_fold(__m128i block, __m128i constants) {
  return _mm_xor_si128(_mm_clmulepi64_si128(block, constants, 0x00),
                       _mm_clmulepi64_si128(block, constants, 0x11));
}

// Folds whole 64-byte lines to 16 bytes with the same remainder. Returns the number of bytes folded.
[[gnu::target("pclmul,sse4.1")]] inline std::size_t crc_by_folding(std::uint32_t& state,
                                                                   const std::byte* data, std::size_t size) {
  if (size < 128) return 0;
  constexpr long long far_low = crc_fold_constant(512 + 32), far_high = crc_fold_constant(512 - 32);
  constexpr long long near_low = crc_fold_constant(128 + 32), near_high = crc_fold_constant(128 - 32);
  const auto* block = reinterpret_cast<const __m128i*>(data);
  __m128i a = _mm_xor_si128(_mm_loadu_si128(block), _mm_cvtsi32_si128(std::bit_cast<int>(state)));
  __m128i b = _mm_loadu_si128(block + 1);
  __m128i c = _mm_loadu_si128(block + 2);
  __m128i d = _mm_loadu_si128(block + 3);
  std::size_t done = 64;
  const __m128i far = _mm_set_epi64x(far_high, far_low);
  for (; size - done >= 64; done += 64) {
    block += 4;
    a = _mm_xor_si128(crc_fold(a, far), _mm_loadu_si128(block));
    b = _mm_xor_si128(crc_fold(b, far), _mm_loadu_si128(block + 1));
    c = _mm_xor_si128(crc_fold(c, far), _mm_loadu_si128(block + 2));
    d = _mm_xor_si128(crc_fold(d, far), _mm_loadu_si128(block + 3));
  }
  const __m128i near = _mm_set_epi64x(near_high, near_low);
  b = _mm_xor_si128(crc_fold(a, near), b);
  c = _mm_xor_si128(crc_fold(b, near), c);
  d = _mm_xor_si128(crc_fold(c, near), d);
  std::array<std::byte, 16> rest;
  std::memcpy(rest.data(), &d, 16);
  state = crc_by_tables(0, rest.data(), rest.size());
  return done;
}
#endif

}  // namespace detail

// The checksum of `bytes` appended to bytes with the checksum `before`.
inline std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  std::uint32_t state = ~before;
  std::size_t done = 0;
#if defined(__x86_64__)
  static const bool multiplies =
      __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  if (multiplies) done = detail::crc_by_folding(state, bytes.data(), bytes.size());
#endif
  return ~detail::crc_by_tables(state, bytes.data() + done, bytes.size() - done);
}

}  // namespace sr
