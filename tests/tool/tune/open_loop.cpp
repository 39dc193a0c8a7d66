// An open loop with runners whose minimum duration is known.
#include "../src/tool/timing/open_loop.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace sr::test::tool_open_loop_tests {

using namespace std::chrono_literals;
using sr::tool::answer;
using sr::tool::Answered;
using sr::tool::ArgumentList;
using sr::tool::arrival_times;
using sr::tool::Load;
using sr::tool::Runner;

namespace {

// Calls body(number of the call); the first call precedes the load.
template <class Body>
class Calling : public Runner {
 public:
  explicit Calling(Body body) : body_(std::move(body)) {}
  c10::IValue run(ArgumentList&& args, std::size_t) override {
    body_(calls_++);
    return args.empty() ? c10::IValue() : args[0];
  }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<Calling>(body_); }

 private:
  Body body_;
  int calls_ = 0;
};

template <class Body>
std::vector<std::unique_ptr<Runner>> callers(std::size_t count, const Body& body) {
  std::vector<std::unique_ptr<Runner>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Calling<Body>>(body));
  return all;
}

const std::vector<ArgumentList> kNoArguments{{}};

}  // namespace

TEST_CASE("latencies include the time that a call waits for a slow one", "[tool]") {
  const auto slow_once = [](int call) {
    if (call == 1) std::this_thread::sleep_for(50ms);
  };
  const auto arrivals = arrival_times(Load{.rate = 1000}, 20);
  const Answered answered = answer(callers(1, slow_once), kNoArguments, arrivals, 1);
  REQUIRE(answered.latencies.size() == 20);
  // The call due at millisecond k came k milliseconds into the slow call, and began after it.
  for (std::size_t k = 0; k < 20; ++k) {
    INFO(k);
    CHECK(answered.latencies[k] >= 1e6 * static_cast<double>(50 - k) - 1000);
  }
  CHECK(answered.not_begun == 0);
  CHECK(answered.offered_per_s == Approx(1000));
  CHECK(answered.achieved_per_s <= 400);  // the last one was due at 19 ms and began after 50
  CHECK_FALSE(answered.sustained());
}

TEST_CASE("every arrival is answered once, by whichever caller is free", "[tool]") {
  std::atomic<int> calls{0};
  const auto count = [&](int) { ++calls; };
  const auto arrivals = arrival_times(Load{.rate = 1e5, .poisson = true, .seed = 3}, 500);
  const Answered answered = answer(callers(3, count), kNoArguments, arrivals, 1);
  CHECK(calls == 500 + 3);
  CHECK(answered.not_begun == 0);
  for (const float latency : answered.latencies) CHECK(latency >= 0);
}

TEST_CASE("calls that cannot start in time are given up, and their waiting time counts", "[tool]") {
  const auto slow = [](int call) {
    if (call > 0) std::this_thread::sleep_for(600ms);
  };
  // The loop gives up a second after twice the two milliseconds: only the calls at 0 and 0.6 begin in time.
  const Answered answered = answer(callers(1, slow), kNoArguments, arrival_times(Load{.rate = 5000}, 10), 1);
  CHECK(answered.not_begun >= 8);
  CHECK(answered.latencies[9] == Approx(1e9 + 4e6 - 9 * 0.2e6));
  CHECK_FALSE(answered.sustained());
}

TEST_CASE("exceptions of calls leave the loop, before and during the load", "[tool]") {
  const auto arrivals = arrival_times(Load{.rate = 1e4}, 1000);
  for (const int failing : {0, 3}) {
    INFO(failing);
    const auto fail = [failing](int call) {
      if (call == failing) throw std::runtime_error("no");
    };
    CHECK_THROWS_AS(answer(callers(2, fail), kNoArguments, arrivals, 1), std::runtime_error);
  }
}

}  // namespace sr::test::tool_open_loop_tests
