// What observers see of a run.
#include <map>
#include <utility>
#include <vector>

#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::observer_tests {

namespace {

struct Counter {
  void begin(Phase) {}
  void end(Phase) {}
  void before(std::uint32_t block, std::size_t index, const ProcessedNode&) { ++entered[{block, index}]; }
  void after(std::uint32_t block, std::size_t index, const ProcessedNode&) { ++left[{block, index}]; }
  std::map<std::pair<std::uint32_t, std::size_t>, int> entered, left;
};

}  // namespace

TEST_CASE("observers see every node once for each time it runs", "[registry]") {
  const StaticModule module(
      script("def forward(self, x, n: int):\n    y = x * 2\n    for i in range(n):\n        if i == 1:\n"
             "            y = y + 1\n        else:\n            y = torch.relu(y)\n    return y - 1\n"));
  StaticRuntime<memory::LinearScan, Counter> counting(module);
  const int iterations[] = {3, 0, 4};
  for (const int n : iterations) counting(at::ones({2}), n);
  const Counter& counter = counting.observer();
  CHECK(counter.entered == counter.left);
  const std::vector<BlockInfo>& blocks = module.content()->blocks;
  REQUIRE(blocks.size() == 4);  // the top, the loop's body, the two branches
  const int times[] = {3, 7, 2, 5};
  for (std::uint32_t block = 0; block < 4; ++block) {
    REQUIRE_FALSE(blocks[block].nodes.empty());
    for (std::size_t node = 0; node < blocks[block].nodes.size(); ++node) {
      INFO("node " << block << "." << node);
      CHECK((counter.entered.at({block, node}) == times[block]));
    }
  }

  StaticRuntime<memory::LinearScan, TimingObserver> timing(module);
  timing(at::ones({2}), 3);
  const TimingObserver& observer = timing.observer();
  CHECK(observer.starts.empty());
  REQUIRE(observer.node_ns.size() == 4);
  for (std::size_t block = 0; block < 4; ++block) {
    REQUIRE(observer.node_ns[block].size() == blocks[block].nodes.size());
    for (const double spent : observer.node_ns[block]) CHECK(spent > 0);
  }
}

}  // namespace sr::test::observer_tests
