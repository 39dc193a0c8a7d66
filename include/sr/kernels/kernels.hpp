// The kernels in use: those of the best instruction set that the CPU has where src/kernels is linked, else
// those of the flags the program is compiled with (own.hpp). Light: nothing is compiled by including this.
#pragma once

#include <sr/kernels/vector_ops.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {

struct Kernels {
  Table table;
  LaneLoops lanes[BuiltinLanes::size];  // in the order of the lists
  WideLoops doubles[lanes::OfDoubles::size], integers[lanes::OfIntegers::size];
};

// Set before main by src/kernels/select.cpp or own.hpp. One for the program, whichever namespace its kernels
// are from.
inline constinit const Kernels* chosen = nullptr;

inline const Kernels& kernels() {
  return *chosen;
}

// The loops of a lane that is built in.
template <class Lane>
const LaneLoops& loops() {
  static_assert(BuiltinLanes::index_of<Lane>() < BuiltinLanes::size, "the lane is none of BuiltinLanes");
  return kernels().lanes[BuiltinLanes::index_of<Lane>()];
}

// Those on doubles and on 64-bit integers; null: the lane has none.
template <class Lane>
const WideLoops* loops_of_doubles() {
  constexpr std::size_t index = lanes::OfDoubles::index_of<Lane>();
  if constexpr (index == lanes::OfDoubles::size)
    return nullptr;
  else
    return &kernels().doubles[index];
}
template <class Lane>
const WideLoops* loops_of_integers() {
  constexpr std::size_t index = lanes::OfIntegers::index_of<Lane>();
  if constexpr (index == lanes::OfIntegers::size)
    return nullptr;
  else
    return &kernels().integers[index];
}

}  // namespace sr::kernels
