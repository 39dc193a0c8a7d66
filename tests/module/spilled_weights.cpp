// Weights that are read in packed form only move to a temporary file.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/base/spillable_memory.hpp>
#include <sr/base/temporary_file.hpp>
#include <sr/load.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/followed.hpp"
#include "support/private_memory.hpp"

namespace sr::test::spilled_weights_tests {

// True if the machine has a disk for temporary files; a test of what is spilled means nothing without one.
bool has_disk() {
  const bool found = sr::detail::TemporaryFile::make().has_value();
  if (!found) WARN("There is no local disk for temporary files, so nothing is spilled.");
  return found;
}

// A tensor in memory that can be spilled.
at::Tensor spillable(std::int64_t elements) {
  at::Tensor tensor = at::arange(elements);
  sr::detail::SpillableMemory::adopt(*tensor.storage().unsafeGetStorageImpl());
  return tensor;
}

void spill(const at::Tensor& tensor) {
  sr::detail::SpillableMemory::of(*tensor.storage().unsafeGetStorageImpl())->spill();
}

bool is_spilled(const at::Tensor& tensor) {
  return sr::detail::SpillableMemory::of(*tensor.storage().unsafeGetStorageImpl())->is_spilled();
}

TEST_CASE("spilled bytes keep their address and their values, and take no memory of the process", "[spill]") {
  if (!has_disk()) return;
  for (const std::int64_t elements : {std::int64_t{1} << 20, (std::int64_t{1} << 18) + 3, std::int64_t{1}}) {
    const at::Tensor tensor = spillable(elements), expected = at::arange(elements);
    const void* const address = tensor.const_data_ptr();
    CHECK(private_kib(address) >= static_cast<std::size_t>(elements) * 8 / 1024);
    spill(tensor);
    REQUIRE(is_spilled(tensor));
    CHECK(private_kib(address) == 0);
    CHECK(tensor.const_data_ptr() == address);
    CHECK(at::equal(tensor, expected));
    tensor.add_(1);  // the page is the process's own again
    CHECK(at::equal(tensor, expected + 1));
    CHECK(succeeds_in_child([&] { return tensor.const_data_ptr<std::int64_t>()[0] == 1; }));
  }
}

TEST_CASE("bytes can be read while they are spilled", "[spill]") {
  if (!has_disk()) return;
  constexpr std::int64_t kElements = std::int64_t{1} << 16;
  for (int round = 0; round < 50; ++round) {
    const at::Tensor tensor = spillable(kElements);
    const auto* const data = tensor.const_data_ptr<std::int64_t>();
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0, started = 0;
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 2; ++reader) {
      readers.emplace_back([&] {
        ++started;
        do {
          for (std::int64_t i = 0; i < kElements; ++i) wrong += data[i] == i ? 0 : 1;
        } while (!stop);
      });
    }
    while (started < 2) std::this_thread::yield();
    spill(tensor);
    stop = true;
    for (std::thread& reader : readers) reader.join();
    REQUIRE(is_spilled(tensor));
    CHECK(wrong == 0);
  }
}

TEST_CASE("bytes stay in memory if the directory or the limit of files allows nothing else", "[spill]") {
  const at::Tensor tensor = spillable(std::int64_t{1} << 18);
  // In a child there are no threads of OpenMP, for which operators would wait.
  const auto stays = [&] {
    spill(tensor);
    const std::span elements(tensor.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(tensor.numel()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] != static_cast<std::int64_t>(i)) return false;
    }
    return !is_spilled(tensor);
  };
  const auto with_directory = [&](const char* directory) {
    return succeeds_in_child([&] { return setenv("TMPDIR", directory, 1) == 0 && stays(); });
  };
  CHECK(with_directory("/dev/shm"));  // memory, too
  CHECK(with_directory("/no such directory"));
  CHECK(with_directory("/proc"));
  CHECK(succeeds_in_child([&] {
    const rlimit limit{1 << 20, RLIM_INFINITY};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && stays();
  }));
}

// x @ w + u, of which w is packed and u is read as it is; both are large.
torch::jit::Module product() {
  return script("def forward(self, x):\n    return torch.linear(x, self.w) + self.u\n",
                {{"w", weight({256, 256})}, {"u", weight({16384, 256})}});
}

StaticModule loaded(const torch::jit::Module& module, const StaticModuleOptions& options = {}) {
  std::stringstream file;
  module.save(file);
  return load(file, options);
}

constexpr memory::Bytes kPacked = 256 * 256 * 4, kRead = 16384 * 256 * 4;

TEST_CASE("a weight of a file is spilled once it is packed, another one is not", "[spill][weights]") {
  if (!has_disk()) return;
  const at::Tensor x = sample({16384, 256}), other = sample({1, 256});
  torch::jit::Module module = product();
  const at::Tensor expected = module.forward({x}).toTensor(), of_other = module.forward({other}).toTensor();
  StaticRuntime<> runtime(loaded(module));
  CHECK(runtime.report().weight_bytes == kPacked + kRead);
  CHECK(runtime.report().spilled_weight_bytes == 0);
  for (int call = 0; call < 4; ++call) {
    CHECK(at::allclose(runtime(x).toTensor(), expected, 1e-4, 1e-4));
    CHECK(at::allclose(runtime(other).toTensor(), of_other, 1e-4, 1e-4));  // is recorded after the first
  }
  CHECK(runtime.report().weight_bytes == kPacked + kRead);
  CHECK(runtime.report().spilled_weight_bytes == kPacked);
}

TEST_CASE("weights stay in memory if they may be written, or if the options say so", "[spill][weights]") {
  if (!has_disk()) return;
  const auto spilled = [](StaticModule module) {
    const at::Tensor x = sample({16384, 256});
    StaticRuntime<> runtime(std::move(module));
    for (int call = 0; call < 3; ++call) runtime(x);
    REQUIRE(runtime.report().replayed_calls > 0);
    return runtime.report().spilled_weight_bytes;
  };
  torch::jit::Module returns = script("def forward(self, x):\n    return torch.linear(x, self.w), self.w\n",
                                      {{"w", weight({256, 256})}});
  CHECK(spilled(loaded(product(), {.weights = {.freeze = true}})) == kPacked);
  CHECK(spilled(loaded(product(), {.weights = {.spill = false}})) == 0);
  CHECK(spilled(loaded(product(), {.weights = {.updatable = true}})) == 0);
  CHECK(spilled(loaded(returns)) == 0);
  CHECK(spilled(StaticModule(product())) == 0);
}

}  // namespace sr::test::spilled_weights_tests
