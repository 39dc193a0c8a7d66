// The operands that a vector op is run on: every pattern of bits where there is one operand, a sample of them
// otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/table.hpp>

namespace sr::exhaustive {

inline constexpr std::size_t kBlock = 4096;  // what a thread works on at a time

using Columns = std::array<std::array<float, kBlock>, kernels::kMaxOperands>;

struct Choice {
  std::uint64_t stride = 1;   // of one operand: one pattern of every so many, and the special ones
  std::uint64_t samples = 0;  // of several operands: so many at random, and all combinations of special ones
  std::uint64_t seed = 0;
};

class Inputs {
 public:
  Inputs(std::size_t operands, const Choice& choice);

  std::uint64_t count() const { return specials_ + others_; }
  std::uint64_t blocks() const { return (count() + kBlock - 1) / kBlock; }
  // Those of a block; how many they are. The same numbers give the same operands, whichever thread asks.
  std::size_t fill(std::uint64_t block, Columns& columns) const;

 private:
  std::array<float, kernels::kMaxOperands> at(std::uint64_t index) const;

  std::size_t operands_;
  Choice choice_;
  std::uint64_t specials_ = 0, others_ = 0;
};

}  // namespace sr::exhaustive
