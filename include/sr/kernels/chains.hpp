// Vector ops linked together: what one makes of a block of eight registers, all that the calling convention
// hands on, stays in them for the next. Each link ends by calling the one behind it with the registers as
// arguments (A. Ertl, "Threaded Code"); optimised, that call is a jump, and without optimisation the stack is
// as deep as the chain is long. If fewer elements are left than eight registers hold, the two halves of the
// last block overlap. If fewer are left than four registers hold, these overlap. The elements in the overlap
// are computed twice, which takes less time than storing and loading them between the vector ops.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kMostRegisters = 8;

// Where a vector op takes an operand from.
struct FromChain {
  SR_KERNEL_INLINE static Vec get(const ChainLink*, std::size_t, Vec before) { return before; }
};
template <std::size_t kOther>
struct FromArray {
  SR_KERNEL_INLINE static Vec get(const ChainLink* self, std::size_t at, Vec) {
    return Vec::load(self->at[kOther] + at);
  }
};
// Compiles to separate code: see ChainEnd. The empty statement keeps the compiler from merging them.
struct FromKept {
  SR_KERNEL_INLINE static Vec get(const ChainLink* self, std::size_t at, Vec) {
    asm volatile("");
    return Vec::load(self->at[0] + at);
  }
};
template <std::size_t kOther>
struct FromScalar {
  SR_KERNEL_INLINE static Vec get(const ChainLink* self, std::size_t, Vec) { return *self->at[kOther]; }
};

template <class VectorOp, class... From>
SR_KERNEL_INLINE Vec apply_from(const ChainLink* self, std::size_t at, Vec before) {
  return VectorOp::template apply<Vec>(From::get(self, at, before)...);
}

// The links that process blocks of as many registers as the first list has indices. The registers form groups
// of equal size. The elements of a group are contiguous, and a position says where a group begins.
template <class Registers, class Positions>
struct Block;
template <std::size_t... register_, std::size_t... position_>
struct Block<std::index_sequence<register_...>, std::index_sequence<position_...>> {
  template <std::size_t>
  using Register = Vec;
  template <std::size_t>
  using Position = std::size_t;
  using Function = void (*)(const ChainLink* self, Position<position_>... at,
                            Register<register_>... registers);

  static constexpr std::size_t kFloats = sizeof...(register_) * kWidth;
  static constexpr std::size_t kOfPosition = sizeof...(register_) / sizeof...(position_);  // registers

  // Where register kOf begins, if `at` says for each position where its first register begins: as indices of
  // elements, or as addresses.
  template <std::size_t kOf, class T>
  SR_KERNEL_INLINE static T place(const std::array<T, sizeof...(position_)>& at) {
    return at[kOf / kOfPosition] + kOf % kOfPosition * kWidth;
  }

  // Returns the address of each position in the link's array. Links that load or store call this first:
  // otherwise the compiler reads the address of the array again after every store.
  SR_KERNEL_INLINE static std::array<float*, sizeof...(position_)> addresses(const ChainLink* self,
                                                                             Position<position_>... at) {
    float* const array = self->at[0];
    return {(array + at)...};
  }

  SR_KERNEL_INLINE static Function function(const ChainLink* link) {
    return reinterpret_cast<Function>(sizeof...(register_) == kMostRegisters ? link->run.by_eight
                                                                             : link->run.by_four);
  }
  SR_KERNEL_INLINE static void call_next(const ChainLink* self, Position<position_>... at,
                                         Register<register_>... registers) {
    return function(self + 1)(self + 1, at..., registers...);
  }

  template <class VectorOp, class... From>
  [[gnu::flatten]] static void vector_op(const ChainLink* self, Position<position_>... at,
                                         Register<register_>... registers) {
    return call_next(self, at...,
                     apply_from<VectorOp, From...>(self, place<register_>(std::array{at...}), registers)...);
  }
  SR_KERNEL_INLINE static void load(const ChainLink* self, Position<position_>... at,
                                    Register<register_>...) {
    const auto from = addresses(self, at...);
    return call_next(self, at..., Vec::load(place<register_>(from))...);
  }
  SR_KERNEL_INLINE static void store(const ChainLink* self, Position<position_>... at,
                                     Register<register_>... registers) {
    const auto to = addresses(self, at...);
    (registers.store(place<register_>(to)), ...);
    return call_next(self, at..., registers...);
  }
  // keep() does what store() does, and load_kept() what load() does. Their instructions must be others (see
  // ChainEnd): the empty statements stop the compiler from sharing one function between two names.
  static void keep(const ChainLink* self, Position<position_>... at, Register<register_>... registers) {
    asm volatile("");
    return store(self, at..., registers...);
  }
  static void load_kept(const ChainLink* self, Position<position_>... at, Register<register_>... registers) {
    asm volatile("");
    return load(self, at..., registers...);
  }
  static void end(const ChainLink*, Position<position_>..., Register<register_>...) {}

  SR_KERNEL_INLINE static void run(const ChainLink* first, Position<position_>... at) {
    return function(first)(first, at..., Register<register_>(0.0F)...);
  }
};
using ByEight = Block<std::make_index_sequence<kMostRegisters>, std::make_index_sequence<2>>;
using ByFour = Block<std::make_index_sequence<4>, std::make_index_sequence<4>>;

struct OwnLinks : Links {
  std::array<ByEight::Function, kLinkKinds> by_eight{};
  std::array<ByFour::Function, kLinkKinds> by_four{};
};

template <class VectorOp, class... From>
consteval void add_link(OwnLinks& links, std::size_t kind) {
  links.by_eight[kind] = ByEight::vector_op<VectorOp, From...>;
  links.by_four[kind] = ByFour::vector_op<VectorOp, From...>;
}

template <class VectorOp>
consteval OwnLinks make_links() {
  using Array = FromArray<0>;
  using Scalar = FromScalar<0>;
  OwnLinks links;
  if constexpr (VectorOp::operands == 1) {
    add_link<VectorOp, FromChain>(links, 0);
  } else if constexpr (VectorOp::operands == 2) {
    add_link<VectorOp, FromChain, Array>(links, 0);
    add_link<VectorOp, FromChain, Scalar>(links, 1);
    add_link<VectorOp, Array, FromChain>(links, 2);
    add_link<VectorOp, Scalar, FromChain>(links, 3);
    add_link<VectorOp, FromChain, FromChain>(links, 4);
    add_link<VectorOp, FromChain, FromKept>(links, 5);
    add_link<VectorOp, FromKept, FromChain>(links, 6);
  } else {
    add_link<VectorOp, FromChain, Array, FromArray<1>>(links, 0);
    add_link<VectorOp, FromChain, Scalar, FromArray<1>>(links, 1);
    add_link<VectorOp, FromChain, Array, FromScalar<1>>(links, 2);
    add_link<VectorOp, FromChain, Scalar, FromScalar<1>>(links, 3);
  }
  return links;
}

template <class VectorOp>
inline constexpr OwnLinks kLinks = make_links<VectorOp>();

inline LinkFunctions link(const Links& links, std::size_t kind) {
  const auto& own = static_cast<const OwnLinks&>(links);
  return {reinterpret_cast<AnyFunction>(own.by_eight[kind]),
          reinterpret_cast<AnyFunction>(own.by_four[kind])};
}

template <class Any>
AnyFunction link_of(ChainEnd end) {
  switch (end) {
    case ChainEnd::load:
      return reinterpret_cast<AnyFunction>(Any::load);
    case ChainEnd::store:
      return reinterpret_cast<AnyFunction>(Any::store);
    case ChainEnd::keep:
      return reinterpret_cast<AnyFunction>(Any::keep);
    case ChainEnd::load_kept:
      return reinterpret_cast<AnyFunction>(Any::load_kept);
    case ChainEnd::end:
      break;
  }
  return reinterpret_cast<AnyFunction>(Any::end);
}
inline LinkFunctions link_to(ChainEnd end) {
  return {link_of<ByEight>(end), link_of<ByFour>(end)};
}

// `n` must be at least the number of elements in one register.
inline void run_chain(const ChainLink* first, std::size_t n) {
  constexpr std::size_t kHalf = ByFour::kFloats;
  std::size_t at = 0;
  for (; at + 2 * kHalf <= n; at += 2 * kHalf) ByEight::run(first, at, at + kHalf);
  if (n - at > kHalf) {
    ByEight::run(first, at, n - kHalf);
  } else if (n != at) {
    const std::size_t last = n - kWidth;
    ByFour::run(first, std::min(at, last), std::min(at + kWidth, last), std::min(at + 2 * kWidth, last),
                std::min(at + 3 * kWidth, last));
  }
  clean_upper_halves();
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
