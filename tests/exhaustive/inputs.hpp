// The operands on which a vector op runs: every bit pattern if it has one operand, else a sample.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/table.hpp>

namespace sr::exhaustive {

inline constexpr std::size_t kBlock = 4096;  // operands that a thread processes at a time

using Columns = std::array<std::array<float, kBlock>, kernels::kMaxOperands>;

struct Choice {
  std::uint64_t stride = 1;   // of one operand: one pattern in each stride, and the special ones
  std::uint64_t samples = 0;  // of several operands: random ones, and all combinations of special ones
  std::uint64_t seed = 0;
};

class Inputs {
 public:
  Inputs(std::size_t operands, const Choice& choice);

  std::uint64_t count() const { return specials_ + others_; }
  std::uint64_t blocks() const { return (count() + kBlock - 1) / kBlock; }
  // Fills the operands of a block and returns their number. A block's operands do not depend on the thread.
  std::size_t fill(std::uint64_t block, Columns& columns) const;

 private:
  std::array<float, kernels::kMaxOperands> at(std::uint64_t index) const;

  std::size_t operands_;
  Choice choice_;
  std::uint64_t specials_ = 0, others_ = 0;
};

}  // namespace sr::exhaustive
