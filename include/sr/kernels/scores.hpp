// The softmax of attention's scores. The division by the sums comes last: it divides the product with the
// values, which often has fewer elements than the scores.
#pragma once

#include <cstddef>

#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Finds out whether all elements of some registers are finite.
class FiniteCheck {
 public:
  // Zero times infinity is NaN, which no later addition removes.
  SR_KERNEL_INLINE void see(Vec x) { zero_ = fma(x, Vec(0.0f), zero_); }
  SR_KERNEL_INLINE bool passed() const { return sum(zero_) == 0; }

 private:
  Vec zero_{0.0f};
};

template <class Body>
SR_KERNEL_INLINE void each_row(const Scores& scores, Body body) {
  for (std::size_t r = 0; r < scores.rows; ++r)
    body(r, scores.begin + static_cast<std::ptrdiff_t>(r) * scores.stride);
}

template <class Factor>
SR_KERNEL_INLINE bool scale_rows(const Scores& scores, Factor factor) {
  FiniteCheck check;
  each_row(scores, [&](std::size_t r, float* row) {
    const Vec by(factor(r));
    over_row(scores.columns, [&](std::size_t i, auto part) {
      const Vec x = part.load(row + i);
      check.see(x);
      part.store(x * by, row + i);
    });
  });
  return check.passed();
}

[[gnu::flatten]] inline bool scale_scores(const Scores& scores) {
  return scale_rows(scores, [&](std::size_t) { return scores.scale; });
}

[[gnu::flatten]] inline bool divide_rows(const Scores& results, const float* sums) {
  return scale_rows(results, [&](std::size_t r) { return 1 / sums[r]; });
}

[[gnu::flatten]] inline bool exp_scores(const Scores& scores, float* sums) {
  constexpr float kLog2E = 0x1.715476p0f;  // log2(e)
  FiniteCheck check;
  const Vec scale(scores.scale * kLog2E);
  each_row(scores, [&](std::size_t r, float* row) {
    const auto seen = [&](Vec x) {
      check.see(x);
      return x;
    };
    const Vec largest(max(row_max(row, scores.columns, seen, [](Vec a, Vec b) { return first_max(a, b); })));
    const Vec offset = largest * -scale;
    Vec total(0.0f);
    over_row(scores.columns, [&](std::size_t i, auto part) {
      const Vec power = exp2_of_negative(fma(part.load(row + i), scale, offset));
      part.store(power, row + i);
      total = total + part.only(power);
    });
    sums[r] = sum(total);
  });
  return check.passed();
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
