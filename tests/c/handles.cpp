// Bound calls, pools, weights and reports through sr.h.
#include "handles.hpp"

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

namespace sr::test::c {

TEST_CASE("a bound call reads and writes buffers that stay where they are", "[c]") {
  const auto module = load("def forward(self, x, y):\n    return torch.relu(x @ y)\n");
  at::Tensor x = at::randn({3, 4}), y = at::randn({4, 2}), z = at::zeros({3, 2});
  sr_bound* made = nullptr;
  {
    Args args(x, y);
    const sr_tensor output = args.describe(z);
    REQUIRE(sr_module_bind(module.get(), args.data(), 2, &output, 1, &made) == SR_OK);
  }
  const Owned<sr_bound> bound(made);
  for (int i = 0; i < 5; ++i) {
    x.normal_();
    REQUIRE(sr_bound_call(made) == SR_OK);
    CHECK(at::allclose(z, at::relu(x.mm(y))));
  }
  const auto with_state = load(counter());
  const auto session = session_of(with_state.get());
  at::Tensor step = at::ones({1, 3}), sum = at::zeros({1, 3});
  Args args(step);
  const sr_tensor output = args.describe(sum);
  REQUIRE(sr_session_bind(session.get(), args.data(), 1, &output, 1, &made) == SR_OK);
  const Owned<sr_bound> of_session(made);
  for (int i = 1; i < 4; ++i) {
    REQUIRE(sr_bound_call(made) == SR_OK);
    CHECK(at::equal(sum, step * i));
  }
  const sr_tensor short_output = args.describe(x);
  CHECK(sr_module_bind(module.get(), args.data(), 1, &short_output, 1, &made) == SR_ARGUMENT);
  CHECK(made == nullptr);
}

TEST_CASE("a pool has a limit", "[c]") {
  const auto module = load("def forward(self, x):\n    return x * 3\n");
  sr_pool* made = nullptr;
  CHECK(sr_pool_new(module.get(), 0, 0, 0, &made) == SR_ARGUMENT);
  REQUIRE(sr_pool_new(module.get(), 2, -1, 1, &made) == SR_OK);
  const Owned<sr_pool> pool(made);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const at::Tensor x = at::full({2}, t + i, at::kFloat);
        const Args args(x);
        sr_results* results = nullptr;
        if (sr_pool_call(made, args.data(), args.size(), nullptr, &results) != SR_OK ||
            !at::equal(tensor_of(results), x * 3))
          ++wrong;
        sr_results_free(results);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  at::Tensor y = at::zeros({2});
  Args args(at::ones({2}));
  const sr_tensor output = args.describe(y);
  REQUIRE(sr_pool_call_into(made, args.data(), 1, &output, 1) == SR_OK);
  CHECK(at::equal(y, at::full({2}, 3.0)));
  char* text = nullptr;
  REQUIRE(sr_pool_report(made, &text) == SR_OK);
  const Owned<char> json(text);
  const auto report = nlohmann::json::parse(text);
  CHECK(report["pool"]["max_runtimes"] == 2);
  CHECK(report["pool"]["made"] <= 2);
  CHECK(report["replayed_calls"] > 0);
}

TEST_CASE("weights are replaced between calls", "[c]") {
  torch::jit::Module scripted("scaled");
  scripted.register_parameter("scale", at::full({3}, 2.0), false);
  scripted.define("def forward(self, x):\n    return x * self.scale\n");
  sr_module_options options{};
  options.size = sizeof options;
  options.updatable_weights = 1;
  const auto module = load(scripted, &options);
  const at::Tensor x = at::randn({3});
  for (int i = 0; i < 4; ++i) {
    const at::Tensor scale = at::full({3}, i, at::kFloat);
    Args described;
    const sr_tensor tensor = described.describe(scale);
    const char* names[] = {"scale"};
    REQUIRE(sr_module_update(module.get(), names, &tensor, 1, 1) == SR_OK);
    CHECK(at::equal(tensor_of(call(module.get(), Args(x)).get()), x * i));
    names[0] = "size";
    CHECK(sr_module_update(module.get(), names, &tensor, 1, 1) == SR_ARGUMENT);
  }
}

TEST_CASE("a module reports its plans as JSON", "[c]") {
  const auto module = load("def forward(self, x):\n    y = torch.relu(x) + 1\n    return y.softmax(1)\n");
  const Args args(at::randn({2, 4}));
  REQUIRE(sr_module_reserve(module.get(), args.data(), args.size(), 1) == SR_OK);
  for (int i = 0; i < 5; ++i) call(module.get(), args);
  char* text = nullptr;
  REQUIRE(sr_module_report(module.get(), &text) == SR_OK);
  const Owned<char> json(text);
  const auto report = nlohmann::json::parse(text);
  CHECK(report["replayed_calls"] == 5);
  REQUIRE(report["plans"].size() == 1);
  CHECK(report["plans"][0]["interpreted"] == 0);
  CHECK(report["nodes"].size() >= 3);
  CHECK(sr_module_trim(module.get()) == SR_OK);
}

}  // namespace sr::test::c
