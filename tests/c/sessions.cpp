// Sessions, methods and batches of sessions through sr.h.
#include <atomic>
#include <thread>

#include "handles.hpp"

namespace sr::test::c {

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

TEST_CASE("a session passes results of a call as arguments to the next call", "[c]") {
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

}  // namespace sr::test::c
