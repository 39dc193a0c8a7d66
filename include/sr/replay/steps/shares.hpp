// Work that LibTorch's threads share. at::parallel_for is serial in files that are compiled without OpenMP,
// as those of our users may be. So LibTorch is made to run the loop of an iterator.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include <sr/base/intra_op_width.hpp>

namespace sr::replay {

class Shares {
 public:
  Shares() = default;  // there is nothing to share
  // `count` > 0 is the number of parts.
  explicit Shares(std::int64_t count)
      : count_(count),
        parts_(at::empty({count}, at::kByte)),
        iterator_(std::make_unique<at::TensorIterator>(at::TensorIteratorConfig()
                                                           .add_output(parts_)
                                                           .resize_outputs(false)
                                                           .check_all_same_dtype(false)
                                                           .build())) {}

  Shares(Shares&&) noexcept = default;
  Shares& operator=(Shares&&) noexcept = default;
  // Each copy has an iterator of its own.
  Shares(const Shares& other) {
    if (other.count_ != 0) *this = Shares(other.count_);
  }
  Shares& operator=(const Shares& other) { return *this = Shares(other); }

  std::int64_t count() const { return count_; }

  // Calls body(first, end) for ranges of parts, concurrently on the threads that LibTorch gives the caller.
  template <class Body>
  void each(const Body& body) const {
    const IntraOpWidth width(intra_op_threads());
    const auto* const begin = static_cast<const char*>(parts_.const_data_ptr());
    iterator_->for_each(
        [&](char** data, const std::int64_t*, std::int64_t size, std::int64_t) {  // of one dimension
          const std::int64_t first = data[0] - begin;
          body(first, first + size);
        },
        /*grain_size=*/1);
  }

 private:
  std::int64_t count_ = 0;
  at::Tensor parts_;
  std::unique_ptr<at::TensorIterator> iterator_;  // which its loop does not change
};

}  // namespace sr::replay
