// The kernels in use: those of the best instruction set that the CPU has if src/kernels is linked, else those
// of the flags that the program is compiled with (header_only_kernels.hpp). Including this header compiles no
// kernel.
#pragma once

#include <sr/kernels/table.hpp>
#include <sr/kernels/vector_ops.hpp>

namespace sr::kernels {

struct Kernels {
  Table table;
  VectorLoops vector_ops[BuiltinVectorOps::size];  // in the order of the lists
  Loops64 doubles[vector_ops::OfDoubles::size], integers[vector_ops::OfIntegers::size];
};

// Set before main by src/kernels/select.cpp or header_only_kernels.hpp. One for the program.
inline constinit const Kernels* chosen = nullptr;

// The kernels for registers half as wide. They are used if a row fills at most half of a register: Zen 4
// executes two instructions on half registers in the time of one on a whole register. Null if the program
// has no such kernels.
inline constinit const Kernels* narrower = nullptr;

// True if the processor splits each instruction on a whole register into two on half registers, as Zen 4 does
// with AVX-512. The narrower kernels are as fast there.
inline constinit bool halves_registers = false;

inline const Kernels& kernels() {
  return *chosen;
}

// The loops of a built-in vector op.
template <class VectorOp>
const VectorLoops& loops() {
  static_assert(BuiltinVectorOps::index_of<VectorOp>() < BuiltinVectorOps::size,
                "the vector op is none of BuiltinVectorOps");
  return kernels().vector_ops[BuiltinVectorOps::index_of<VectorOp>()];
}

// The loops on doubles and on 64-bit integers; null if the vector op has none.
template <class VectorOp>
const Loops64* loops_of_doubles() {
  constexpr std::size_t index = vector_ops::OfDoubles::index_of<VectorOp>();
  if constexpr (index == vector_ops::OfDoubles::size)
    return nullptr;
  else
    return &kernels().doubles[index];
}
template <class VectorOp>
const Loops64* loops_of_integers() {
  constexpr std::size_t index = vector_ops::OfIntegers::index_of<VectorOp>();
  if constexpr (index == vector_ops::OfIntegers::size)
    return nullptr;
  else
    return &kernels().integers[index];
}

}  // namespace sr::kernels
