// AMX-INT8 in plain C++, for the kernels that multiply by its tiles (kernels/int8_tiles.hpp). Follows the
// operation sections of TILELOADD, TILESTORED, TILEZERO, TDPBSUD and TDPBUUD in Intel's manual of
// instructions. A tile of columns is as wide as the registers of this file's instruction set, which pack
// weights for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <sr/kernels/vec.hpp>

namespace sr::test {

class ModelTiles {
 public:
  static constexpr std::size_t kColumns = kernels::kWidth;

  // Like the registers of AMX, tiles hold nothing outside of a scope.
  class Scope {
   public:
    Scope() { state().exists = true; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { state() = {}; }
  };

  template <int kTile>
  static void clear() {
    tile<kTile>() = {};
  }
  template <int kTile>
  static void load(const void* from, std::ptrdiff_t stride) {
    for (std::size_t r = 0; r < kRows; ++r)
      std::memcpy(tile<kTile>()[r].data(),
                  static_cast<const char*>(from) + static_cast<std::ptrdiff_t>(r) * stride, row_bytes(kTile));
  }
  template <int kTile>
  static void store(void* to, std::ptrdiff_t stride) {
    for (std::size_t r = 0; r < kRows; ++r)
      std::memcpy(static_cast<char*>(to) + static_cast<std::ptrdiff_t>(r) * stride, tile<kTile>()[r].data(),
                  row_bytes(kTile));
  }
  template <int kSums, int kLeft, int kRight, bool kSigned>
  static void add() {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        std::uint32_t sum = 0;  // wraps around
        std::memcpy(&sum, tile<kSums>()[r].data() + 4 * c, sizeof(sum));
        for (std::size_t k = 0; k < kRows; ++k) {
          for (std::size_t i = 0; i < 4; ++i) {
            const std::uint8_t left = tile<kLeft>()[r][4 * k + i], right = tile<kRight>()[k][4 * c + i];
            const std::int32_t factor = kSigned ? static_cast<std::int8_t>(left) : std::int32_t{left};
            sum += static_cast<std::uint32_t>(factor * std::int32_t{right});
          }
        }
        std::memcpy(tile<kSums>()[r].data() + 4 * c, &sum, sizeof(sum));
      }
    }
  }

 private:
  static constexpr std::size_t kRows = 16;
  using Tile = std::array<std::array<std::uint8_t, 64>, kRows>;
  struct State {
    bool exists = false;
    std::array<Tile, 8> tiles{};
  };

  static State& state() {
    thread_local State state;
    return state;
  }
  template <int kTile>
  static Tile& tile() {
    if (!state().exists) throw std::logic_error("A tile is used outside of a scope.");
    return state().tiles[kTile];
  }
  // Tiles 4 and 5 hold rows of the left side, the others columns.
  static constexpr std::size_t row_bytes(int tile) { return tile == 4 || tile == 5 ? 64 : 4 * kColumns; }
};

}  // namespace sr::test
