// Lanes linked together: what one makes of a block of four registers stays in them for the next. Each link
// ends by calling the one behind it with the registers as arguments (A. Ertl, "Threaded Code"); optimised,
// that call is a jump, and without optimisation the stack is as deep as the chain is long.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kChainBlock = 4 * kWidth;

using LinkFunction = void (*)(const ChainLink* self, std::size_t at, Vec a, Vec b, Vec c, Vec d);

struct OwnLinks : Links {
  std::array<LinkFunction, kLinkKinds> by_kind{};
};

SR_KERNEL_INLINE void call_next(const ChainLink* self, std::size_t at, Vec a, Vec b, Vec c, Vec d) {
  return reinterpret_cast<LinkFunction>(self[1].run)(self + 1, at, a, b, c, d);
}

// Where a lane takes an operand from.
struct FromChain {
  SR_KERNEL_INLINE static Vec get(const ChainLink*, std::size_t, Vec before) { return before; }
};
template <std::size_t kOther>
struct FromArray {
  SR_KERNEL_INLINE static Vec get(const ChainLink* self, std::size_t at, Vec) {
    return Vec::load(self->at[kOther] + at);
  }
};
template <std::size_t kOther>
struct FromScalar {
  SR_KERNEL_INLINE static Vec get(const ChainLink* self, std::size_t, Vec) { return *self->at[kOther]; }
};

template <class Lane, class... From>
[[gnu::flatten]] void lane_link(const ChainLink* self, std::size_t at, Vec a, Vec b, Vec c, Vec d) {
  a = Lane::template apply<Vec>(From::get(self, at, a)...);
  b = Lane::template apply<Vec>(From::get(self, at + kWidth, b)...);
  c = Lane::template apply<Vec>(From::get(self, at + 2 * kWidth, c)...);
  d = Lane::template apply<Vec>(From::get(self, at + 3 * kWidth, d)...);
  return call_next(self, at, a, b, c, d);
}

inline void load_link(const ChainLink* self, std::size_t at, Vec, Vec, Vec, Vec) {
  const float* from = self->at[0] + at;
  return call_next(self, at, Vec::load(from), Vec::load(from + kWidth), Vec::load(from + 2 * kWidth),
                   Vec::load(from + 3 * kWidth));
}

inline void store_link(const ChainLink* self, std::size_t at, Vec a, Vec b, Vec c, Vec d) {
  float* to = self->at[0] + at;
  a.store(to);
  b.store(to + kWidth);
  c.store(to + 2 * kWidth);
  d.store(to + 3 * kWidth);
  return call_next(self, at, a, b, c, d);
}

inline void end_link(const ChainLink*, std::size_t, Vec, Vec, Vec, Vec) {}

template <class Lane>
consteval OwnLinks make_links() {
  using Array = FromArray<0>;
  using Scalar = FromScalar<0>;
  if constexpr (Lane::operands == 1) {
    return {{}, {lane_link<Lane, FromChain>}};
  } else if constexpr (Lane::operands == 2) {
    return {{},
            {lane_link<Lane, FromChain, Array>, lane_link<Lane, FromChain, Scalar>,
             lane_link<Lane, Array, FromChain>, lane_link<Lane, Scalar, FromChain>,
             lane_link<Lane, FromChain, FromChain>}};
  } else {
    return {
        {},
        {lane_link<Lane, FromChain, Array, FromArray<1>>, lane_link<Lane, FromChain, Scalar, FromArray<1>>,
         lane_link<Lane, FromChain, Array, FromScalar<1>>,
         lane_link<Lane, FromChain, Scalar, FromScalar<1>>}};
  }
}

template <class Lane>
inline constexpr OwnLinks kLinks = make_links<Lane>();

inline AnyFunction link(const Links& links, std::size_t kind) {
  return reinterpret_cast<AnyFunction>(static_cast<const OwnLinks&>(links).by_kind[kind]);
}
inline AnyFunction link_to(ChainEnd end) {
  return reinterpret_cast<AnyFunction>(end == ChainEnd::load    ? load_link
                                       : end == ChainEnd::store ? store_link
                                                                : end_link);
}

inline void run_chain(const ChainLink* first, std::size_t n) {
  const Vec none(0.0f);
  const auto block = [&](std::size_t at) {
    reinterpret_cast<LinkFunction>(first->run)(first, at, none, none, none, none);
  };
  std::size_t at = 0;
  for (; at + kChainBlock <= n; at += kChainBlock) block(at);
  if (at != n) block(n - kChainBlock);
  clean_upper_halves();
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
