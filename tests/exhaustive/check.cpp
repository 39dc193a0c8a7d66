#include "exhaustive/check.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <thread>

#include "exhaustive/bounds.hpp"
#include "exhaustive/ulps.hpp"

namespace sr::exhaustive {

namespace {

constexpr bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

// The state of one thread, apart from its share of the inputs.
class Worker {
 public:
  Worker(const Row& row, const std::vector<const kernels::Kernels*>& sets, const Inputs& inputs)
      : row_(row), sets_(sets), inputs_(inputs) {
    verdict_.sets.resize(sets.size());
    for (std::size_t o = 0; o < in_.size(); ++o) in_[o] = columns_[o].data();
  }

  void run(std::uint64_t block) {
    const std::size_t count = inputs_.fill(block, columns_);
    verdict_.inputs += count;
    row_.truth(count, in_, truth_.data());
    if (row_.also_right != nullptr) row_.also_right(count, in_, also_right_.data());
    for (const Exception& exception : kExceptions) {
      if (exception.vector_op == row_.vector_op) except(exception, count);
    }
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      std::array<float, kBlock>& out = s == 0 ? first_out_ : out_;
      sets_[s]->vector_ops[row_.vector_op].by_scalars[0](count, out.data(), in_.data());
      judge(verdict_.sets[s], out, count, block * kBlock);
      if (s != 0 && row_.exact) compare_with_first(count);
    }
  }

  const Verdict& verdict() const { return verdict_; }

 private:
  void except(const Exception& exception, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (exception.covers(columns_[0][i])) truth_[i] = exception.result;
    }
  }

  void judge(Worst& worst, const std::array<float, kBlock>& out, std::size_t count,
             std::uint64_t first) const {
    for (std::size_t i = 0; i < count; ++i) {
      const double ulps = ulps_between(out[i], truth_[i], scale_of(row_.unit, in_, i));
      if (!(ulps > worst.ulps)) continue;
      if (row_.also_right != nullptr && same(out[i], also_right_[i])) continue;
      worst = {ulps, first + i, {}, out[i], truth_[i]};
      for (std::size_t o = 0; o < row_.operands; ++o) worst.in[o] = columns_[o][i];
    }
  }

  void compare_with_first(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) verdict_.unlike_first += same(out_[i], first_out_[i]) ? 0 : 1;
  }

  const Row& row_;
  const std::vector<const kernels::Kernels*>& sets_;
  const Inputs& inputs_;
  Verdict verdict_;
  Columns columns_;
  In in_;
  std::array<double, kBlock> truth_;
  std::array<float, kBlock> also_right_, first_out_, out_;
};

}  // namespace

Verdict check(const Row& row, const std::vector<const kernels::Kernels*>& sets, const Inputs& inputs,
              unsigned jobs) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned job = 0; job < jobs; ++job) {
    workers.push_back(std::make_unique<Worker>(row, sets, inputs));
  }
  std::atomic<std::uint64_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (const auto& worker : workers) {
      threads.emplace_back([&] {
        for (std::uint64_t block = next++; block < inputs.blocks(); block = next++) worker->run(block);
      });
    }
  }
  Verdict result;
  result.sets.resize(sets.size());
  for (const auto& worker : workers) {
    result.inputs += worker->verdict().inputs;
    result.unlike_first += worker->verdict().unlike_first;
    for (std::size_t s = 0; s < sets.size(); ++s) result.sets[s].take(worker->verdict().sets[s]);
  }
  return result;
}

}  // namespace sr::exhaustive
