// One operation of a fused step, on a tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/table.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The largest number of elements in a tile: a few tiles must fit into 32 KiB.
inline constexpr std::size_t kTile = 1024;

// Elements of the iteration space that operations process together: a range of indices of the dimension
// FusedStep::split, each with all elements of the dimensions inside of it.
struct Tile {
  std::size_t first = 0, count = 0;          // elements
  std::size_t first_index = 0, indices = 0;  // of that dimension, counted on through the outer dimensions
};

struct TileOperand {
  Address address;
  std::int64_t advance = 0;  // bytes an element when it lies along the iteration; 0 for scratch and scalars

  std::byte* at(std::byte* const* bases, std::size_t first) const {
    return address.in(bases) + static_cast<std::int64_t>(first) * advance;
  }
  float* in(std::byte* const* bases, std::size_t first) const {
    return reinterpret_cast<float*>(at(bases, first));
  }
  friend bool operator==(const TileOperand& a, const TileOperand& b) {
    return a.address.base == b.address.base && a.address.offset == b.address.offset && a.advance == b.advance;
  }
};

// A vector op with the addresses of its operands.
struct BoundVectorOp {
  kernels::VectorLoop loop = nullptr;
  std::size_t count = 0;
  float* out = nullptr;
  std::array<const float*, kernels::kMaxOperands> in{};

  void run() const { loop(count, out, in.data()); }
};

struct TileOp {
  kernels::VectorLoop loop = nullptr;  // on floats; at most one of three is not null, else it is a copy
  kernels::Loop64 loop64 = nullptr;    // on doubles or integers
  kernels::Convert convert = nullptr;
  const kernels::Links* links = nullptr;    // of the vector op; null: it cannot be part of a chain
  std::uint32_t operands = 0, scalars = 0;  // scalars: bit i = operand i is one float
  std::int32_t copy = -1;                   // its index
  TileOperand out;
  std::array<TileOperand, kernels::kMaxOperands> in;

  bool is_scalar(std::size_t operand) const { return (scalars >> operand & 1) != 0; }

  // Binds a vector op to elements `from` to `end` - 1 of the tile that begins at element `first`.
  BoundVectorOp bound(std::byte* const* bases, std::size_t first, std::size_t from, std::size_t end) const {
    BoundVectorOp bound{.loop = loop, .count = end - from, .out = out.in(bases, first) + from};
    for (std::uint32_t i = 0; i < operands; ++i)
      bound.in[i] = in[i].in(bases, first) + (is_scalar(i) ? 0 : from);
    return bound;
  }
};

}  // namespace sr::replay
