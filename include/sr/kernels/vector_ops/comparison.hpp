// Vector ops of comparison, logic and choice. True is 1 and false is 0; any operand but 0 counts as true.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

struct Equal : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x == y, V(1), V(0));
  }
};
struct NotEqual : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x != y, V(1), V(0));
  }
};
struct Less : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x < y, V(1), V(0));
  }
};
struct LessEqual : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x <= y, V(1), V(0));
  }
};
struct Greater : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x > y, V(1), V(0));
  }
};
struct GreaterEqual : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x >= y, V(1), V(0));
  }
};
struct And : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) & (y != V(0)), V(1), V(0));
  }
};
struct Or : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) | (y != V(0)), V(1), V(0));
  }
};
struct Xor : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return select(x != V(0), select(y != V(0), V(0), V(1)), select(y != V(0), V(1), V(0)));
  }
};
struct Not : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return select(x == V(0), V(1), V(0));
  }
};
struct IsNan : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return select(is_nan(x), V(1), V(0));
  }
};
struct Where : Ternary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V condition, V yes, V no) {
    return select(condition != V(0), yes, no);
  }
};
struct MaskedFill : Ternary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V mask, V value) {
    return select(mask != V(0), value, x);
  }
};

}  // namespace sr::kernels::vector_ops
