// Random weights of 8 or 4 bits with scales of groups, and what each weight is as a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/floats.hpp"
#include "support/kernel_values.hpp"

namespace sr::test {

struct GroupedShape {
  std::size_t m, n, groups, group;
};

struct GroupedOperand {
  GroupedShape shape;
  std::size_t k;
  bool nibbles, b_transposed;
  std::vector<std::int8_t> b;
  std::vector<float> scales, zeros;  // no zeros: none are subtracted

  // `draw` returns 8 bits.
  template <class Draw>
  GroupedOperand(const GroupedShape& of, bool has_zeros, const Draw& draw)
      : shape(of),
        k(of.groups * of.group),
        nibbles(random_bits()() % 2 == 0),
        b_transposed(random_bits()() % 2 == 0),
        b(of.n * k),
        scales(of.n * of.groups),
        zeros(has_zeros ? of.n * of.groups : 0) {
    for (std::int8_t& value : b) {
      value = draw();
      if (nibbles) value = static_cast<std::int8_t>(value / 16);
    }
    for (float& value : scales) value = uniform();
    for (float& value : zeros) value = static_cast<float>(random_bits()() % 16) - 8;
  }

  kernels::GroupedWeights weights() const {
    return {.n = shape.n,
            .k = k,
            .group = shape.group,
            .nibbles = nibbles,
            .b = b.data(),
            .b_k = b_transposed ? 1 : signed_size(shape.n),
            .b_n = b_transposed ? signed_size(k) : 1,
            .scales = scales.data(),
            .zeros = zeros.empty() ? nullptr : zeros.data()};
  }
  double weight(std::size_t l, std::size_t j) const {
    const std::size_t factor = j * shape.groups + l / shape.group;
    const double value = b[b_transposed ? j * k + l : l * shape.n + j];
    return (value - (zeros.empty() ? 0 : zeros[factor])) * scales[factor];
  }
};

}  // namespace sr::test
