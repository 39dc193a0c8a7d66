// Products of 8-bit integers in tiles of 16 rows, as AMX multiplies them: 16 groups of 16 rows with 16
// columns in one instruction. The weights are packed as for the other forms, and sums are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/int8_gemm.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kTileHeight =
    16;  // rows of the left side and of sums, and groups of the right side
inline constexpr std::size_t kTileBytes = 64;  // of a row of the left side

#if defined(SR_KERNEL_AVX512)
// The instructions of AMX-INT8 as inline assembly, since this file is compiled for AVX-512 without AMX. They
// may be executed only after has_amx() has returned true.
struct AmxTiles {
  static constexpr std::size_t kColumns = 16;
  static_assert(kColumns == kWidth);

  // The shape of all tiles; while it exists, this thread keeps their registers.
  class Scope {
   public:
    Scope() {
      struct alignas(64) Shape {
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
      };
      static_assert(sizeof(Shape) == 64);
      const Shape shape;
      asm volatile("ldtilecfg %0" : : "m"(shape));
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { asm volatile("tilerelease"); }
  };

  template <int kTile>
  SR_KERNEL_INLINE static void clear() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows are `stride` bytes apart.
  template <int kTile>
  SR_KERNEL_INLINE static void load(const void* from, std::ptrdiff_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  SR_KERNEL_INLINE static void store(void* to, std::ptrdiff_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  // Adds the products of a left tile with the unsigned bytes of a right one.
  template <int kSums, int kLeft, int kRight, bool kSigned>
  SR_KERNEL_INLINE static void add() {
    if constexpr (kSigned) {
      asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
    } else {
      asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
    }
  }
};
#endif

// Two blocks of 16 rows of the left side, cut into chunks of 64 bytes: first all chunks of the upper block,
// each with its rows one after the other. Rows and bytes that there are not are zeros.
template <bool kSigned>
struct TiledRows {
  static constexpr std::size_t kBytes = std::size_t{1} << 16;  // up to k = 2048
  alignas(64) std::uint8_t bytes[kBytes];
  std::int32_t sums[2 * kTileHeight];
  std::size_t chunks = 0;

  static bool fits(std::size_t k) { return chunks_of(k) * kTileBytes * 2 * kTileHeight <= kBytes; }
  static std::size_t chunks_of(std::size_t k) { return (k + kTileBytes - 1) / kTileBytes; }

  void copy(const Int8Gemm& product, std::size_t first, std::size_t rows) {
    using Byte = std::conditional_t<kSigned, std::int8_t, std::uint8_t>;
    chunks = chunks_of(product.k);
    for (std::size_t r = 0; r < 2 * kTileHeight; ++r) {
      const bool exists = r < rows;
      const std::uint8_t* const row =
          product.a + static_cast<std::ptrdiff_t>(exists ? first + r : 0) * product.a_row;
      sums[r] = 0;
      for (std::size_t l = 0; l < product.k && exists; ++l) sums[r] += static_cast<Byte>(row[l]);
      for (std::size_t c = 0; c < chunks; ++c) {
        const std::size_t at = c * kTileBytes, left = product.k - at;
        const std::size_t count = !exists ? 0 : left < kTileBytes ? left : kTileBytes;
        std::uint8_t* const to =
            bytes + (r / kTileHeight * chunks + c) * kTileHeight * kTileBytes + r % kTileHeight * kTileBytes;
        if (count != 0) std::memcpy(to, row + at, count);
        std::memset(to + count, 0, kTileBytes - count);
      }
    }
  }
  const std::uint8_t* tile(std::size_t half, std::size_t chunk) const {
    return bytes + (half * chunks + chunk) * kTileHeight * kTileBytes;
  }
};

// The sums of kHigh blocks of rows with kWide tiles of columns, in rows of kPanel. The panel has `groups`
// groups, each of kWide * Tiles::kColumns columns.
template <class Tiles, bool kSigned, std::size_t kHigh, std::size_t kWide>
void sum_tiles(const TiledRows<kSigned>& left, const std::uint8_t* panel, std::size_t groups,
               std::int32_t* sums) {
  constexpr std::size_t kRow = kWide * Tiles::kColumns * kInGroup;  // bytes of a group
  constexpr auto kStride = static_cast<std::ptrdiff_t>(kRow);
  unrolled<kHigh * kWide>([](auto tile) { Tiles::template clear<static_cast<int>(tile)>(); });
  alignas(64) std::uint8_t rest[kTileHeight * kRow];  // groups behind the last whole tile, and zeros
  for (std::size_t c = 0; c < left.chunks; ++c) {
    const std::size_t count = groups - c * kTileHeight;
    const std::uint8_t* right = panel + c * kTileHeight * kRow;
    if (count < kTileHeight) {
      std::memcpy(rest, right, count * kRow);
      std::memset(rest + count * kRow, 0, sizeof(rest) - count * kRow);
      right = rest;
    }
    unrolled<kHigh>(
        [&](auto half) { Tiles::template load<4 + static_cast<int>(half)>(left.tile(half, c), kTileBytes); });
    unrolled<kWide>([&](auto v) {
      Tiles::template load<6 + static_cast<int>(v)>(right + v * Tiles::kColumns * kInGroup, kStride);
    });
    unrolled<kHigh * kWide>([&](auto tile) {
      constexpr int kTile = static_cast<int>(tile), kHalf = kTile / static_cast<int>(kWide),
                    kColumn = kTile % static_cast<int>(kWide);
      Tiles::template add<kTile, 4 + kHalf, 6 + kColumn, kSigned>();
    });
  }
  unrolled<kHigh * kWide>([&](auto tile) {
    constexpr std::size_t kHalf = tile / kWide, kColumn = tile % kWide;
    Tiles::template store<static_cast<int>(tile)>(
        sums + kHalf * kTileHeight * kPanel + kColumn * Tiles::kColumns, kPanel * sizeof(std::int32_t));
  });
}

// Scales and stores `rows` rows of sums, at the columns of the tile.
template <std::size_t kVecs>
void finish_tiles(const Int8Gemm& product, const Int8Tile& tile, const std::int32_t* sums, std::size_t rows,
                  std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    Ints totals[kVecs];
    unrolled<kVecs>([&](auto v) { totals[v] = load_ints(sums + r * kPanel + v * kWidth); });
    const auto finish = [&](auto last) __attribute__((always_inline)) {
      finish_int8_row<kVecs, /*kMoved=*/false>(product, tile, r, last, totals);
    };
    if (columns == kVecs * kWidth) {
      finish(Full{});
    } else {
      finish(Part{columns % kWidth});
    }
  }
}

template <class Tiles, bool kSigned>
void int8_tiles_of(const Int8Gemm& product) {
  static_assert(Tiles::kColumns == kWidth && kPanel == 2 * kWidth);
  constexpr std::size_t kBlock = 2 * kTileHeight;
  const std::size_t groups = int8_groups(product.k), row_bytes = groups * kInGroup;
  const std::uint8_t* const column_sums = product.b + int8_columns(product.n) * row_bytes;
  TiledRows<kSigned> left;
  alignas(64) std::int32_t sums[kBlock * kPanel];
  const typename Tiles::Scope scope;
  for (std::size_t first = 0; first < product.m; first += kBlock) {
    const std::size_t rows = product.m - first < kBlock ? product.m - first : kBlock;
    left.copy(product, first, rows);
    for (std::size_t column = product.first_column; column < product.end_column; column += kPanel) {
      const std::size_t width = panel_width(product.n, column);
      const std::size_t columns = product.n - column < width ? product.n - column : width;
      const Int8Tile tile{product.b + column * row_bytes, left.sums,
                          column_sums + column * sizeof(std::int32_t), first, column};
      const auto multiply = [&](auto high, auto wide) {
        sum_tiles<Tiles, kSigned, high, wide>(left, tile.b, groups, sums);
        finish_tiles<wide>(product, tile, sums, rows, columns);
      };
      const auto with_height = [&](auto high) {
        if (width == kPanel) return multiply(high, Index<2>{});
        multiply(high, Index<1>{});
      };
      if (rows > kTileHeight) {
        with_height(Index<2>{});
      } else {
        with_height(Index<1>{});
      }
    }
  }
}

// Few rows would leave most of a tile empty, and long ones do not fit the buffer; `otherwise` multiplies
// those.
template <class Tiles>
void int8_gemm_by_tiles(const Int8Gemm& product, void (*otherwise)(const Int8Gemm& product)) {
  constexpr std::size_t kFewRows = 4;
  if (product.m < kFewRows || product.k == 0 || !TiledRows<true>::fits(product.k)) return otherwise(product);
  if (product.a_signed) return int8_tiles_of<Tiles, true>(product);
  int8_tiles_of<Tiles, false>(product);
}

#if defined(SR_KERNEL_AVX512)
inline void int8_gemm_by_amx(const Int8Gemm& product) {
  int8_gemm_by_tiles<AmxTiles>(product, &int8_gemm<DotOfBytes>);
}
inline constexpr auto* kInt8GemmByTiles = &int8_gemm_by_amx;
#else
inline constexpr void (*kInt8GemmByTiles)(const Int8Gemm& product) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
