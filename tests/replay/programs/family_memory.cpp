// The memory that sizes take.
#include <cstdint>
#include <malloc.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::family_memory_tests {

TEST_CASE("ten thousand sizes take no more memory than a few", "[replay][families]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x, y):\n    return torch.softmax(torch.relu(x + 1) @ y, 1), (x * 2).sum(0)\n"))};
  const at::Tensor largest = sample({101, 101});
  const auto call = [&](std::int64_t n, std::int64_t m) {
    return runtime(at::from_blob(largest.data_ptr(), {n, m}), at::from_blob(largest.data_ptr(), {m, 8}));
  };
  call(101, 101);
  for (std::int64_t n = 2; n < 6; ++n) call(n, 7 - n);
  const std::size_t plans_before = plans(runtime), bytes_before = runtime.report().plan_bytes;
  const std::size_t before = mallinfo2().uordblks;
  for (std::int64_t n = 2; n < 102; ++n) {
    for (std::int64_t m = 2; m < 102; ++m) call(n, m);
  }
  const std::size_t after = mallinfo2().uordblks;
  CHECK(plans(runtime) <= plans_before + 1);
  CHECK(runtime.report().plan_bytes <= bytes_before + 64 * 1024);
  CHECK(after <= before + 1024 * 1024);
  CHECK(runtime.replayed_calls() > 9900);
}

}  // namespace sr::test::family_memory_tests
