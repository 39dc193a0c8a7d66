// Checks that the number of threads does not change the results of a model.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/script.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test {

// Checks that calls on one, two and three threads are replayed and have the same bits.
inline void check_threads(const torch::jit::Module& module, const at::Tensor& given) {
  at::Tensor alone;
  for (const int threads : {1, 2, 3}) {
    const IntraOpWidth width(threads);
    StaticRuntime<> runtime{StaticModule(module)};
    at::Tensor result;
    for (int call = 0; call < 6; ++call) result = runtime(given).toTensor();
    if (threads == 1) alone = result;
    CAPTURE(threads);
    CHECK(runtime.replayed_calls() >= 4);
    CHECK(result.equal(alone));
  }
}

}  // namespace sr::test
