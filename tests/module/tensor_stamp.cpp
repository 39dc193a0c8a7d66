// Stamps notice every change of a tensor. They compare the bytes that LibTorch keeps of it, so that these
// tests also say whether LibTorch keeps them where stamps look.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <sr/module/bound_stamps.hpp>
#include <sr/module/plain_stamp.hpp>
#include <sr/module/tensor_stamp.hpp>

#include "support/catch.hpp"

namespace sr::test::tensor_stamp_tests {
namespace {

struct Change {
  std::string what;
  std::function<void(at::Tensor&)> make;
};

at::Tensor tensor_of(std::int64_t dims, std::int64_t size) {
  return at::zeros(std::vector<std::int64_t>(static_cast<std::size_t>(dims), size));
}

TEST_CASE("a stamp suits tensors of up to five dimensions", "[bound][weights]") {
  for (std::int64_t dims = 0; dims <= 7; ++dims) {
    CAPTURE(dims);
    CHECK(TensorStamp::suits(tensor_of(dims, 2)) == (dims <= 5));
  }
}

TEST_CASE("a stamp notices every change of a tensor", "[bound][weights]") {
  const auto impl_of = [](at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); };
  const auto with_sizes = [&](std::int64_t d, std::int64_t size) {
    return [=](at::Tensor& tensor) {
      std::vector<std::int64_t> sizes = tensor.sizes().vec();
      sizes[static_cast<std::size_t>(d)] = size;
      const std::vector<std::int64_t> strides = tensor.strides().vec();
      impl_of(tensor)->set_sizes_and_strides(sizes, strides);
    };
  };
  const auto with_stride = [&](std::int64_t d, std::int64_t stride) {
    return [=](at::Tensor& tensor) {
      const std::vector<std::int64_t> sizes = tensor.sizes().vec();
      std::vector<std::int64_t> strides = tensor.strides().vec();
      strides[static_cast<std::size_t>(d)] = stride;
      impl_of(tensor)->set_sizes_and_strides(sizes, strides);
    };
  };
  for (std::int64_t dims = 0; dims <= 5; ++dims) {
    std::vector<Change> changes{
        {"storage", [](at::Tensor& tensor) { tensor.set_(at::zeros_like(tensor)); }},
        {"memory",
         [](at::Tensor& tensor) {
           tensor.storage().unsafeGetStorageImpl()->set_data_ptr(
               c10::GetCPUAllocator()->allocate(tensor.storage().nbytes()));
         }},
        {"storage offset", [&](at::Tensor& tensor) { impl_of(tensor)->set_storage_offset(1); }},
        {"dtype", [](at::Tensor& tensor) { tensor.set_data(tensor.view(at::kInt)); }},
        {"keys", [](at::Tensor& tensor) { tensor._set_neg(true); }},
        {"another dimension", [](at::Tensor& tensor) { tensor.unsqueeze_(tensor.dim()); }},
    };
    for (std::int64_t d = 0; d < dims; ++d) {
      changes.push_back({"size " + std::to_string(d), with_sizes(d, 2)});
      changes.push_back({"stride " + std::to_string(d), with_stride(d, 1000)});
    }
    for (const Change& change : changes) {
      CAPTURE(dims, change.what);
      at::Tensor tensor = tensor_of(dims, 3);
      REQUIRE(TensorStamp::suits(tensor));
      const std::vector<TensorStamp> bound{TensorStamp(tensor)};
      const std::vector<ConstantStamp> constants{ConstantStamp(tensor)};
      CHECK(all_hold(bound));
      CHECK(all_hold(constants));
      const c10::Storage kept = tensor.storage();  // must outlive the stamps
      change.make(tensor);
      CHECK_FALSE(all_hold(bound));
      CHECK_FALSE(all_hold(constants));
    }
  }
}

TEST_CASE("a stamp notices sizes that change while the number of elements stays the same",
          "[bound][weights]") {
  using Sizes = std::vector<std::int64_t>;
  const std::vector<std::pair<Sizes, Sizes>> changes{{{0}, {0, 1}},
                                                     {{0, 3}, {0, 5}},
                                                     {{3, 0}, {0, 3}},
                                                     {{2, 6}, {6, 2}},
                                                     {{1, 0, 3}, {1, 0, 4}},
                                                     {{2, 3, 4}, {2, 4, 3}},
                                                     {{2, 2, 0, 2}, {2, 2, 0, 3}},
                                                     {{2, 2, 3, 4}, {2, 2, 4, 3}},
                                                     {{1, 1, 1, 3, 4}, {1, 1, 1, 4, 3}}};
  for (const auto& [before, after] : changes) {
    CAPTURE(before, after);
    const at::Tensor tensor = at::zeros(before);
    const std::vector<std::int64_t> strides(after.size(), 1);  // else these would differ, too
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(before,
                                                        c10::IntArrayRef(strides).slice(0, before.size()));
    REQUIRE(TensorStamp::suits(tensor));
    const std::vector<TensorStamp> bound{TensorStamp(tensor)};
    CHECK(all_hold(bound));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(after, strides);
    CHECK_FALSE(all_hold(bound));
  }
}

TEST_CASE("a stamp notices writes to a weight, and bytes that become shared", "[bound][weights]") {
  at::Tensor tensor = at::zeros({3, 4});
  const std::vector<ConstantStamp> constants{ConstantStamp(tensor)};
  const std::vector<TensorStamp> bound{TensorStamp(tensor)};
  tensor.add_(1);
  CHECK_FALSE(all_hold(constants));
  CHECK(all_hold(bound));
  const at::Tensor lazy = at::_lazy_clone(tensor);
  CHECK_FALSE(all_hold(bound));
}

}  // namespace
}  // namespace sr::test::tensor_stamp_tests
