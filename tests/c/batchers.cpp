// Batchers through sr.h.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "handles.hpp"

namespace sr::test::c {

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

}  // namespace sr::test::c
