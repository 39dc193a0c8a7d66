// Memory of a thread for the parts that it runs of steps that threads share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <sr/kernels/aligned.hpp>
#include <sr/kernels/table.hpp>

namespace sr::replay {

// Each thread has one, which grows to what the largest part needs and is used by one part at a time. What a
// part keeps in it is undefined for the next part.
class Workspace {
 public:
  static Workspace& of_thread() {
    static thread_local Workspace workspace;
    return workspace;
  }

  // So many floats, aligned for vectors.
  float* floats(std::size_t count) {
    if (scratch_ == nullptr || scratch_->count < count) scratch_ = std::make_unique<AlignedFloats>(count);
    return scratch_->data;
  }

  // A copy of the first `count` bases of a call. The part may replace some of them.
  std::byte** copy_of(std::byte* const* bases, std::size_t count) {
    bases_.assign(bases, bases + count);
    return bases_.data();
  }

  // A copy of the links of a chain, into which the part may put addresses.
  kernels::ChainLink* copy_of(const std::vector<kernels::ChainLink>& links) {
    links_.assign(links.begin(), links.end());
    return links_.data();
  }

 private:
  std::unique_ptr<AlignedFloats> scratch_;
  std::vector<std::byte*> bases_;
  std::vector<kernels::ChainLink> links_;
};

}  // namespace sr::replay
