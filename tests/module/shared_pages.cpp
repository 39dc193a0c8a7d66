// Tests states whose copies share pages of memory until they are written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <torch/script.h>

#include <sr/base/shared_pages.hpp>
#include <sr/module/session_state.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/private_memory.hpp"
#include "support/session_oracle.hpp"

namespace sr::test::shared_pages_tests {

namespace {

using sr::detail::SharedPages;

constexpr std::int64_t kRows = 2500, kWidth = 1024;  // 10 MB of floats
constexpr std::size_t kCacheKib = kRows * kWidth * 4 / 1024;

std::vector<std::byte> numbered(std::size_t count, int from) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i / 7 + static_cast<std::size_t>(from)) % 251);
  return bytes;
}

bool holds(const SharedPages& pages, std::size_t offset, const std::vector<std::byte>& bytes) {
  return std::equal(bytes.begin(), bytes.end(), pages.data() + offset);
}

// Writes one row of a cache in each call.
torch::jit::Module decoder() {
  return script(
      "def forward(self, x):\n    self.cache[self.n % 2500] = x\n    self.n += 1\n"
      "    return self.cache[:3].sum() + self.cache[-1, 0] + self.small.sum()\n",
      {{"cache", at::zeros({kRows, kWidth})}, {"small", at::ones({3})}, {"n", c10::IValue(0)}});
}

const void* cache_of(const Session& session) {
  for (const c10::IValue& value : session.session_state()->values().variables()) {
    if (value.isTensor() && value.toTensor().numel() == kRows * kWidth)
      return value.toTensor().const_data_ptr();
  }
  return nullptr;
}

}  // namespace

TEST_CASE("copies of pages differ where they were written", "[session][pages]") {
  const std::vector<std::byte> first = numbered(100'001, 1), second = numbered(300'000, 2);
  const std::vector<std::span<const std::byte>> parts{first, second};
  const SharedPages::Pointer pages = SharedPages::make(parts);
  REQUIRE(pages != nullptr);
  const std::size_t at = SharedPages::offset_behind(0, first.size());
  CHECK((holds(*pages, 0, first) && holds(*pages, at, second)));
  CHECK(pages->written_pages().empty());
  CHECK(pages->written_pages(/*asks_kernel=*/false).empty());
  const SharedPages::Pointer copy = pages->share();
  REQUIRE(copy != nullptr);
  CHECK((holds(*copy, 0, first) && holds(*copy, at, second)));
  copy->data()[5] = std::byte{255};
  copy->data()[at + 200'000] = std::byte{254};
  CHECK((holds(*pages, 0, first) && holds(*pages, at, second)));
  CHECK(copy->written_pages().size() == 2);
  CHECK(copy->written_pages(/*asks_kernel=*/false) == copy->written_pages());
  const SharedPages::Pointer third = copy->share();
  REQUIRE(third != nullptr);
  CHECK(third->data()[5] == std::byte{255});
  CHECK(third->data()[at + 200'000] == std::byte{254});
  CHECK(third->data()[at + 200'001] == second[200'001]);
}

TEST_CASE("if most pages were written, share() moves them to a new file", "[session][pages]") {
  const std::vector<std::byte> bytes = numbered(1 << 20, 1), others = numbered(1 << 20, 9);
  const std::vector<std::span<const std::byte>> parts{bytes};
  const SharedPages::Pointer pages = SharedPages::make(parts);
  REQUIRE(pages != nullptr);
  std::byte* const address = pages->data();
  std::ranges::copy(others, address);
  const SharedPages::Pointer copy = pages->share();
  REQUIRE(copy != nullptr);
  CHECK(pages->data() == address);
  CHECK((holds(*pages, 0, others) && holds(*copy, 0, others)));
  CHECK(pages->written_pages().empty());
  CHECK(copy->written_pages().empty());
}

TEST_CASE("sessions and clones of a large cache take the pages that they write", "[session][pages]") {
  const torch::jit::Module model = decoder();
  const StaticModule module(model);
  const Session session = module.session();
  SessionOracle oracle(model);
  const auto step = [](const Session& of, SessionOracle& reference) {
    const InputSet inputs{at::randn({kWidth})};
    CHECK(compare_values(*reference(inputs), of(copy_inputs(inputs)), {.rtol = 1e-4, .atol = 1e-3},
                         "result") == "");
  };
  for (int i = 0; i < 8; ++i) step(session, oracle);
  CHECK(written_kib(cache_of(session)) < 100);
  std::vector<Session> clones;
  std::vector<SessionOracle> references;
  for (int i = 0; i < 10; ++i) {
    clones.push_back(session.clone());
    references.emplace_back(oracle.module());
  }
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < clones.size(); ++i) step(clones[i], references[i]);
  }
  for (std::size_t i = 0; i < clones.size(); ++i) {
    CHECK(written_kib(cache_of(clones[i])) < 100);
    CHECK(compare_state(references[i], clones[i].state(), {}) == "");
  }
  CHECK(compare_state(oracle, session.state(), {}) == "");

  // A cache that was written whole is copied once, and clones share the copy.
  NamedState whole = session.state();
  const at::Tensor cache = at::randn({kRows, kWidth});
  for (const c10::IValue& value : session.session_state()->values().variables()) {
    if (value.isTensor() && value.toTensor().numel() == cache.numel()) value.toTensor().copy_(cache);
  }
  CHECK(written_kib(cache_of(session)) >= kCacheKib);
  const Session one = session.clone(), two = session.clone();
  CHECK(written_kib(cache_of(session)) < 100);
  CHECK(written_kib(cache_of(two)) < 100);
  CHECK(one.state().at("cache").toTensor().equal(cache));
  CHECK(two.state().at("cache").toTensor().equal(cache));
  session.reset();
  CHECK(session.state().at("cache").toTensor().equal(at::zeros({kRows, kWidth})));
  CHECK(one.state().at("cache").toTensor().equal(cache));
  session.load(whole);
  CHECK(session.state().at("cache").toTensor().equal(whole.at("cache").toTensor()));
}

}  // namespace sr::test::shared_pages_tests
