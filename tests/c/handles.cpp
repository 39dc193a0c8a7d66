// Sessions, pools, bound calls, batchers, weights and reports through sr.h.
#include "handles.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace sr::test::c {

namespace {

// Adds up what its calls are given.
torch::jit::Module counter() {
  torch::jit::Module module("counter");
  module.register_buffer("sum", at::zeros({1, 3}));
  module.define("def forward(self, x):\n    self.sum += x\n    return self.sum.clone()\n");
  return module;
}

Owned<sr_session> session_of(const sr_module* module) {
  sr_session* session = nullptr;
  REQUIRE(sr_session_new(module, &session) == SR_OK);
  return Owned<sr_session>(session);
}

at::Tensor advance(const sr_session* session, const at::Tensor& x) {
  const Args args(x);
  sr_results* results = nullptr;
  REQUIRE(sr_session_call(session, args.data(), args.size(), nullptr, &results) == SR_OK);
  const Owned<sr_results> owned(results);
  return tensor_of(results);
}

}  // namespace

TEST_CASE("sessions keep their states apart", "[c]") {
  const auto module = load(counter());
  const auto first = session_of(module.get()), second = session_of(module.get());
  const at::Tensor one = at::ones({1, 3});
  for (int i = 1; i < 6; ++i) {
    CHECK(at::equal(advance(first.get(), one), one * i));
    CHECK(at::equal(advance(second.get(), one * 2), one * 2 * i));
  }
  sr_session* copy = nullptr;
  REQUIRE(sr_session_clone(first.get(), &copy) == SR_OK);
  const Owned<sr_session> clone(copy);
  CHECK(at::equal(advance(clone.get(), one), one * 6));
  CHECK(at::equal(advance(first.get(), one), one * 6));

  sr_results* state = nullptr;
  REQUIRE(sr_session_state(first.get(), &state) == SR_OK);
  const Owned<sr_results> saved(state);
  REQUIRE(sr_session_reset(first.get()) == SR_OK);
  CHECK(at::equal(advance(first.get(), one), one));
  REQUIRE(sr_session_load(first.get(), sr_results_value(state), 1) == SR_OK);
  CHECK(at::equal(advance(first.get(), one), one * 7));
  Args unknown("other", one);
  const sr_value wrong = unknown.as(SR_DICT);
  CHECK(sr_session_load(first.get(), &wrong, 0) == SR_ARGUMENT);
  const sr_value none{};
  CHECK(sr_session_load(first.get(), &none, 0) == SR_ARGUMENT);

  at::Tensor into = at::zeros({1, 3});
  Args described;
  const sr_tensor output = described.describe(into);
  const Args args(one);
  REQUIRE(sr_session_call_into(first.get(), args.data(), args.size(), &output, 1) == SR_OK);
  CHECK(at::equal(into, one * 8));
}

TEST_CASE("a session carries results to arguments", "[c]") {
  const auto module = load("def forward(self, x, h):\n    h = h * 0.5 + x\n    return h.sum(), h\n");
  const char* names[] = {"h"};
  const std::size_t results_of[] = {1};
  sr_session* made = nullptr;
  REQUIRE(sr_session_new_carried(module.get(), names, results_of, 1, &made) == SR_OK);
  const Owned<sr_session> session(made);
  const at::Tensor x = at::ones({4});
  Args begin("h", at::zeros({4}));
  const sr_value state = begin.as(SR_DICT);
  REQUIRE(sr_session_load(made, &state, 1) == SR_OK);
  at::Tensor h = at::zeros({4});
  for (int i = 0; i < 5; ++i) {
    h = h * 0.5 + x;
    CHECK(at::allclose(advance(made, x), h.sum()));
  }
  const std::size_t wrong[] = {7};
  CHECK(sr_session_new_carried(module.get(), names, wrong, 1, &made) == SR_ARGUMENT);
}

TEST_CASE("methods run on the state of the module and of a session", "[c]") {
  torch::jit::Module scripted = counter();
  scripted.define("def look(self):\n    return self.sum * 1\n");
  const auto module = load(scripted);
  sr_module* made = nullptr;
  REQUIRE(sr_module_method(module.get(), "look", &made) == SR_OK);
  const Owned<sr_module> look(made);
  const at::Tensor one = at::ones({1, 3});
  call(module.get(), Args(one));
  CHECK(at::equal(tensor_of(call(look.get(), Args()).get()), one));
  CHECK(sr_module_method(module.get(), "nothing", &made) == SR_ARGUMENT);
  const auto session = session_of(module.get());
  advance(session.get(), one * 4);
  sr_session* looking = nullptr;
  REQUIRE(sr_session_method(session.get(), "look", &looking) == SR_OK);
  const Owned<sr_session> owned(looking);
  sr_results* results = nullptr;
  REQUIRE(sr_session_call(looking, nullptr, 0, nullptr, &results) == SR_OK);
  const Owned<sr_results> found(results);
  CHECK(at::equal(tensor_of(results), one * 4));
}

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

TEST_CASE("a batcher joins requests, and answers submitted ones by a function", "[c]") {
  const auto module = load("def forward(self, x):\n    return x * 2, x.sum(1)\n");
  sr_batcher_options options{};
  options.size = sizeof options;
  options.max_rows = 8;
  options.max_wait_ns = 1000000;
  sr_batcher* made = nullptr;
  REQUIRE(sr_batcher_new(module.get(), &options, &made) == SR_OK);
  const Owned<sr_batcher> batcher(made);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const at::Tensor x = at::full({1 + i % 3, 2}, t, at::kFloat);
        const Args args(x);
        sr_results* results = nullptr;
        if (sr_batcher_call(made, nullptr, args.data(), args.size(), nullptr, &results) != SR_OK ||
            !at::equal(tensor_of(results), x * 2) || !at::equal(tensor_of(results, 1), x.sum(1)))
          ++wrong;
        sr_results_free(results);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);

  struct Answer {
    std::mutex mutex;
    std::condition_variable there;
    sr_status status = SR_INTERNAL;
    at::Tensor first;
    std::string sentence;
    bool is_done = false;
  };
  const auto submit = [&](const at::Tensor& x, Answer& answer) {
    const Args args(x);
    const sr_done done = [](void* context, sr_status status, sr_results* results) {
      auto& to = *static_cast<Answer*>(context);
      const Owned<sr_results> owned(results);
      const std::lock_guard lock(to.mutex);
      to.status = status;
      if (results != nullptr) to.first = tensor_of(results);
      if (status != SR_OK) to.sentence = sr_last_error();
      to.is_done = true;
      to.there.notify_one();
    };
    return sr_batcher_submit(made, nullptr, args.data(), args.size(), nullptr, done, &answer);
  };
  const auto wait = [](Answer& answer) {
    std::unique_lock lock(answer.mutex);
    answer.there.wait(lock, [&] { return answer.is_done; });
  };
  const at::Tensor x = at::randn({2, 5}), wrong_rank = at::ones({3});
  Answer good, bad;
  REQUIRE(submit(x, good) == SR_OK);
  wait(good);
  CHECK(good.status == SR_OK);
  CHECK(at::equal(good.first, x * 2));
  if (submit(wrong_rank, bad) == SR_OK) {
    wait(bad);
    CHECK(bad.status == SR_OPERATOR);
    CHECK(bad.sentence.find("Dimension out of range") != std::string::npos);
  }
  const Args args(x);
  CHECK(sr_batcher_submit(made, nullptr, args.data(), args.size(), nullptr, nullptr, nullptr) == SR_ARGUMENT);
  char* text = nullptr;
  REQUIRE(sr_batcher_report(made, &text) == SR_OK);
  const Owned<char> json(text);
  CHECK(nlohmann::json::parse(text)["requests"] >= 201);
}

TEST_CASE("a batcher joins calls of sessions", "[c]") {
  const auto module = load(counter());
  sr_batcher* made = nullptr;
  REQUIRE(sr_batcher_new(module.get(), nullptr, &made) == SR_OK);
  const Owned<sr_batcher> batcher(made);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      const auto session = session_of(module.get());
      const at::Tensor x = at::full({1, 3}, t, at::kFloat);
      for (int i = 1; i < 40; ++i) {
        const Args args(x);
        sr_results* results = nullptr;
        if (sr_batcher_call(made, session.get(), args.data(), args.size(), nullptr, &results) != SR_OK ||
            !at::equal(tensor_of(results), x * i))
          ++wrong;
        sr_results_free(results);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
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
