// Calls that find no memory raise, or do without a layout, and leave the runtime usable.
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include <ATen/Functions.h>

#include <sr/executor/heap_buffer.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::scarce_memory_tests {

namespace {

// Has no memory for layouts above a limit.
struct Scarce : memory::LinearScan {
  static constexpr std::string_view name = "scarce";
  static constexpr memory::Bytes kLimit = 64 * 1024;
  static inline std::size_t refused = 0;

  class Buffer {
   public:
    void commit(std::span<const memory::Request> requests, const memory::Layout& layout) {
      if (layout.total > kLimit) {
        ++refused;
        throw std::bad_alloc();
      }
      memory_.commit(requests, layout);
    }
    std::byte* address(std::size_t index) const { return memory_.address(index); }

   private:
    memory::HeapBuffer memory_;
  };
};

torch::jit::Module module() {
  return script(
      "def forward(self, x):\n"
      "    y = torch.celu(x * 2)\n"
      "    z = torch.flip(y, [0]) + x\n"
      "    return torch.sin(z) - torch.celu(z)\n");
}

}  // namespace

TEST_CASE("the general path does without a layout that has no memory", "[executor][memory]") {
  at::manual_seed(9);
  StaticModuleOptions options;
  options.debug.enable_replay = false;
  StaticRuntime<Scarce> runtime{StaticModule(module(), options)};
  torch::jit::Module reference = module();
  Scarce::refused = 0;
  for (const std::int64_t rows : {4, 4, 4, 5000, 4, 4, 4, 5000, 5000, 2, 4, 4}) {
    const at::Tensor x = at::randn({rows, 16});
    CAPTURE(rows);
    CHECK(at::allclose(runtime(x).toTensor(), reference.forward({x}).toTensor()));
  }
  CHECK(Scarce::refused > 0);
}

TEST_CASE("a replay without memory raises, and the next call is answered", "[executor][memory]") {
  at::manual_seed(10);
  StaticRuntime<Scarce> runtime{StaticModule(module())};
  torch::jit::Module reference = module();
  Scarce::refused = 0;
  std::size_t raised = 0;
  for (int round = 0; round < 4; ++round) {
    for (const std::int64_t rows : {4, 4, 4, 5000, 5000, 5000, 3, 4}) {
      const at::Tensor x = at::randn({rows, 16});
      CAPTURE(round, rows);
      try {
        const at::Tensor result = runtime(x).toTensor();
        CHECK(at::allclose(result, reference.forward({x}).toTensor()));
      } catch (const std::bad_alloc&) {
        CHECK(rows == 5000);
        ++raised;
      }
    }
  }
  CHECK(Scarce::refused > 0);
  CHECK(raised > 0);
  CHECK(runtime.replayed_calls() > 0);
}

}  // namespace sr::test::scarce_memory_tests
