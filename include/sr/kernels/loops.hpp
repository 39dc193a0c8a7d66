// The loops of a vector op over arrays: one for every choice of operands that are a single number.
#pragma once

#include <cstddef>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

template <class V, bool kScalar>
struct LoopOperand {
  const typename V::Element* from;

  SR_KERNEL_INLINE explicit LoopOperand(const typename V::Element* begin) : from(begin) {}
  SR_KERNEL_INLINE V at(std::size_t i) const { return V::load(from + i); }
  // A single element, which the previous step has often written, is not loaded as part of a register: such a
  // load would wait until the store has reached the cache.
  SR_KERNEL_INLINE V first(std::size_t count) const { return count == 1 ? V(*from) : V::load(from, count); }
};

template <class V>
struct LoopOperand<V, true> {
  V value;

  SR_KERNEL_INLINE explicit LoopOperand(const typename V::Element* from) : value(*from) {}
  SR_KERNEL_INLINE V at(std::size_t) const { return value; }
  SR_KERNEL_INLINE V first(std::size_t) const { return value; }
};

// The last register is computed before the loop and stored after it: it overlaps the one before if n is not a
// multiple of the width, and the loop may overwrite its operands. Only fewer than `width` elements need
// partial access.
template <class VectorOp, class V, class... Operands>
SR_KERNEL_INLINE void run_vector_op(std::size_t n, typename V::Element* out, const Operands... operands) {
  if (n < V::width) {
    if (n == 0) return;
    const V all = VectorOp::template apply<V>(operands.first(n)...);
    if (n == 1) {
      *out = all.lanes[0];
    } else {
      all.store(out, n);
    }
    return;
  }
  const std::size_t end = n - V::width;
  const V last = VectorOp::template apply<V>(operands.at(end)...);
  for (std::size_t i = 0; i < end; i += V::width)
    VectorOp::template apply<V>(operands.at(i)...).store(out + i);
  last.store(out + end);
}

// `flatten` inlines the vector op, which is written as an ordinary function: a call in the loop would cost
// more than the op.
template <class VectorOp, unsigned kScalars, std::size_t... kIndex>
[[gnu::flatten]] void vector_loop(std::size_t n, float* out, const float* const* in) {
  run_vector_op<VectorOp, Vec>(n, out, LoopOperand<Vec, ((kScalars >> kIndex) & 1) != 0>(in[kIndex])...);
}
template <class VectorOp, class V, unsigned kScalars, std::size_t... kIndex>
[[gnu::flatten]] void loop64(std::size_t n, void* out, const void* const* in) {
  using T = typename V::Element;
  run_vector_op<VectorOp, V>(
      n, static_cast<T*>(out),
      LoopOperand<V, ((kScalars >> kIndex) & 1) != 0>(static_cast<const T*>(in[kIndex]))...);
}

// Calls fill with the indices of the operands and all choices of operands that are one element.
template <class VectorOp, class Fill>
consteval void for_each_choice(Fill fill) {
  static_assert(VectorOp::operands >= 1 && VectorOp::operands <= kMaxOperands,
                "a vector op has one to three operands");
  fill(std::make_index_sequence<VectorOp::operands>{},
       std::make_integer_sequence<unsigned, 1U << VectorOp::operands>{});
}

template <class VectorOp>
consteval VectorLoops make_loops() {
  VectorLoops loops;
  loops.operands = VectorOp::operands;
  for_each_choice<VectorOp>([&]<std::size_t... kIndex, unsigned... kScalars>(
      std::index_sequence<kIndex...>, std::integer_sequence<unsigned, kScalars...>) {
    ((loops.by_scalars[kScalars] = vector_loop<VectorOp, kScalars, kIndex...>), ...);
  });
  return loops;
}

template <class VectorOp, class V>
consteval Loops64 make_loops64() {
  Loops64 loops;
  for_each_choice<VectorOp>([&]<std::size_t... kIndex, unsigned... kScalars>(
      std::index_sequence<kIndex...>, std::integer_sequence<unsigned, kScalars...>) {
    ((loops.by_scalars[kScalars] = loop64<VectorOp, V, kScalars, kIndex...>), ...);
  });
  return loops;
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
