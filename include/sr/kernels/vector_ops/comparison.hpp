// Vector ops of comparison, logic and choice. True is 1 and false is 0; any operand but 0 counts as true.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

struct Equal : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x == y, V(1), V(0));
  }
};
struct NotEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x != y, V(1), V(0));
  }
};
struct Less : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x < y, V(1), V(0));
  }
};
struct LessEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x <= y, V(1), V(0));
  }
};
struct Greater : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x > y, V(1), V(0));
  }
};
struct GreaterEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x >= y, V(1), V(0));
  }
};
struct And : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) & (y != V(0)), V(1), V(0));
  }
};
struct Or : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) | (y != V(0)), V(1), V(0));
  }
};
struct Xor : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x != V(0), select(y != V(0), V(0), V(1)), select(y != V(0), V(1), V(0)));
  }
};
struct Not : Unary {
  template <class V>
  static V apply(V x) {
    return select(x == V(0), V(1), V(0));
  }
};
struct IsNan : Unary {
  template <class V>
  static V apply(V x) {
    return select(is_nan(x), V(1), V(0));
  }
};
struct Where : Ternary {
  template <class V>
  static V apply(V condition, V yes, V no) {
    return select(condition != V(0), yes, no);
  }
};
struct MaskedFill : Ternary {
  template <class V>
  static V apply(V x, V mask, V value) {
    return select(mask != V(0), value, x);
  }
};

}  // namespace sr::kernels::vector_ops
