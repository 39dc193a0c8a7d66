// Counts the writes of a call to tensors of the caller.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <sr/base/identity.hpp>
#include <sr/base/versions.hpp>

namespace sr::detail {

// Raises the version of every tensor in the arguments at `positions` once, at the end of the call, also of
// one that throws. `argument(i)` is argument i.
class CountedWrites {
 public:
  template <class ArgumentAt>
  CountedWrites(const std::vector<std::size_t>& positions, const ArgumentAt& argument) {
    for (const std::size_t i : positions) {
      each_tensor(argument(i), [&](const at::Tensor& tensor) {
        if (tensor.defined()) written_.push_back(tensor);
      });
    }
  }
  ~CountedWrites() {
    for (const at::Tensor& tensor : written_) count_write(tensor);
  }
  CountedWrites(const CountedWrites&) = delete;
  CountedWrites& operator=(const CountedWrites&) = delete;

 private:
  c10::SmallVector<at::Tensor, 2> written_;
};

}  // namespace sr::detail
