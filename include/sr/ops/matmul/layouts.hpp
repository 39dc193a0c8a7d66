// Layouts of matrix products.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// linear(x, weight [n, k], bias)
inline bool linear(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const Dims& weight = rule.tensor(1).sizes;
  if (sizes.empty() || weight.size() != 2 || !require(sizes.back() == weight[1])) return false;
  sizes.back() = weight[0];
  if (rule.has_tensor(2) && !broadcasts_to(rule.tensor(2).sizes, sizes)) return false;
  rule.dense(std::move(sizes));
  return true;
}

// The product of inputs a and a + 1, which have this rank. `added` is a tensor that is added to it, or null.
inline bool product(LayoutRule& rule, std::size_t a, std::size_t rank, const TensorLayout* added = nullptr) {
  const Dims &left = rule.tensor(a).sizes, &right = rule.tensor(a + 1).sizes;
  if (left.size() != rank || right.size() != rank || !require(left[rank - 1] == right[rank - 2]))
    return false;
  if (rank == 3 && !require(left[0] == right[0])) return false;
  Dims sizes = left;
  sizes.back() = right.back();
  if (added != nullptr && !broadcasts_to(added->sizes, sizes)) return false;
  rule.dense(std::move(sizes));
  return true;
}

// mm(a, b), bmm(a, b)
inline bool mm(LayoutRule& rule) {
  return product(rule, 0, 2);
}
inline bool bmm(LayoutRule& rule) {
  return product(rule, 0, 3);
}

// addmm(bias, a, b, beta, alpha)
inline bool addmm(LayoutRule& rule) {
  return product(rule, 1, 2, &rule.tensor(0));
}

// outer(a, b)
inline bool outer(LayoutRule& rule) {
  const Dims &a = rule.tensor(0).sizes, &b = rule.tensor(1).sizes;
  if (a.size() != 1 || b.size() != 1) return false;
  rule.dense({a[0], b[0]});
  return true;
}

// tensordot(a, b, dims of a, dims of b): the dimensions of a that are not summed over, then those of b
inline bool tensordot(LayoutRule& rule) {
  Dims sizes;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Dims& all = rule.tensor(i).sizes;
    const std::vector<bool> is_summed = are_named(rule.integers(i + 2), all.size());
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (!is_summed[d]) sizes.push_back(all[d]);
    }
  }
  rule.dense(std::move(sizes));
  return true;
}

// matmul(a, b): of matrices, of batches of matrices, or of either and a vector b
inline bool matmul(LayoutRule& rule) {
  const Dims &a = rule.tensor(0).sizes, &b = rule.tensor(1).sizes;
  if (b.size() == 1 && a.size() >= 2 && require(a.back() == b[0])) {
    rule.dense(Dims(a.begin(), a.end() - 1));
    return true;
  }
  if (b.size() < 2 || a.size() < b.size() || !require(a.back() == b[b.size() - 2])) return false;
  Dims batch = a, batch_of_b = b;
  batch.resize(a.size() - 2);
  batch_of_b.resize(b.size() - 2);
  Dims sizes = broadcast(batch, batch_of_b);
  sizes.push_back(a[a.size() - 2]);
  sizes.push_back(b.back());
  rule.dense(std::move(sizes));
  return true;
}

// baddbmm(x, left, right, ...)
inline bool baddbmm(LayoutRule& rule) {
  const Dims &left = rule.tensor(1).sizes, &right = rule.tensor(2).sizes;
  if (left.size() != 3 || right.size() != 3 || !require(left[0] == right[0]) || !require(left[2] == right[1]))
    return false;
  Dims sizes{left[0], left[1], right[2]};
  if (!broadcasts_to(rule.tensor(0).sizes, sizes)) return false;
  rule.dense(std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
