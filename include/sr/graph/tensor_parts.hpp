// Parts of a tensor whose lengths are the elements of another one, as jagged features have them: what the
// operators compute that take the place of split_with_sizes, see passes/jagged_parts.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/Functions.h>

#include <sr/base/error.hpp>

namespace sr {

// An assertion on the sum of the lengths from `begin` up to, not including, `end`.
struct PartCheck {
  enum class Relation : std::int64_t { at_least, at_most, equal };
  static constexpr std::int64_t kWhole = -1;  // as a bound: the number of elements of the whole
  static constexpr std::size_t kWords = 4;    // of one check in a list of integers

  std::int64_t begin = 0, end = 0;
  Relation relation = Relation::equal;
  std::int64_t bound = 0;

  void append_to(std::vector<std::int64_t>& words) const {
    words.insert(words.end(), {begin, end, static_cast<std::int64_t>(relation), bound});
  }
  static PartCheck read(const std::int64_t* words) {
    return {words[0], words[1], static_cast<Relation>(words[2]), words[3]};
  }
  // `starts` has the sums of all lengths before each part.
  bool holds(const std::int64_t* starts, std::int64_t whole) const {
    const std::int64_t sum = starts[end] - starts[begin];
    const std::int64_t limit = bound == kWhole ? whole : bound;
    return relation == Relation::at_least  ? sum >= limit
           : relation == Relation::at_most ? sum <= limit
                                           : sum == limit;
  }
};

namespace detail {

// Writes the offset of each of `count` parts to `starts`, and then the sum of all lengths. Returns false if a
// length is negative.
template <class Length>
bool sum_lengths(const Length* lengths, std::size_t count, std::int64_t* starts) {
  bool are_natural = true;
  starts[0] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    starts[i + 1] = starts[i] + lengths[i];
    are_natural &= lengths[i] >= 0;
  }
  return are_natural;
}

// sr::part_starts(Tensor lengths, Tensor whole, int[] checks, str[] messages) -> Tensor. Returns int64 sums
// of the lengths before each part, and of all. `lengths` has one dimension and integers. Throws what the
// first of the checks that fails has as message, or what split_with_sizes of `whole` throws for the lengths.
inline at::Tensor part_starts(const at::Tensor& lengths, const at::Tensor& whole, at::IntArrayRef checks,
                              const std::vector<std::string>& messages) {
  const at::Tensor wide = lengths.to(at::kLong).contiguous();
  const auto* const length = wide.const_data_ptr<std::int64_t>();
  at::Tensor starts = at::empty({wide.numel() + 1}, wide.options());
  auto* const start = starts.mutable_data_ptr<std::int64_t>();
  const bool are_natural = sum_lengths(length, static_cast<std::size_t>(wide.numel()), start);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!PartCheck::read(checks.data() + i * PartCheck::kWords).holds(start, whole.size(0)))
      throw Error(ErrorCode::assertion_failed, messages[i]);
  }
  if (!are_natural || start[wide.numel()] != whole.size(0))
    whole.split_with_sizes({length, static_cast<std::size_t>(wide.numel())});
  return starts;
}

// sr::embedding_bag_of_part: the bags of one part of the indices, and of the weights of samples. `starts` and
// `starts_of_weights` are what part_starts returns for each of them.
inline at::Tensor embedding_bag_of_part(const at::Tensor& weight, const at::Tensor& indices,
                                        const at::Tensor& offsets, bool scale_grad_by_freq, std::int64_t mode,
                                        bool sparse, const std::optional<at::Tensor>& weights,
                                        bool include_last_offset, std::optional<std::int64_t> padding,
                                        const at::Tensor& starts,
                                        const std::optional<at::Tensor>& starts_of_weights,
                                        std::int64_t part) {
  const auto part_of = [&](const at::Tensor& whole, const at::Tensor& begins) {
    const std::int64_t* const start = begins.const_data_ptr<std::int64_t>() + part;
    return whole.narrow(0, start[0], start[1] - start[0]);
  };
  const auto part_of_weights =
      weights ? std::optional(part_of(*weights, starts_of_weights.value())) : std::nullopt;
  return std::get<0>(at::embedding_bag(weight, part_of(indices, starts), offsets, scale_grad_by_freq, mode,
                                       sparse, part_of_weights, include_last_offset, padding));
}

}  // namespace detail

}  // namespace sr
