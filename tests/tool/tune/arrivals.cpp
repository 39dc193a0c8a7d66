// Open-loop loads: arrival times, and the verdict on callers that cannot keep up.
#include "../src/tool/timing/arrivals.hpp"

#include <chrono>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "../src/tool/timing/statistics.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using sr::tool::Answered;
using sr::tool::arrival_times;
using sr::tool::horizon_of;
using sr::tool::Load;

TEST_CASE("equal gaps do not drift", "[tool]") {
  const auto times = arrival_times(Load{.rate = 3}, 3001);
  REQUIRE(times.size() == 3001);
  CHECK(times[0] == 0ns);
  CHECK(times[1] == 333333333ns);
  CHECK(times[2] == 666666667ns);
  CHECK(times[3] == 1s);
  CHECK(times[3000] == 1000s);
  CHECK(horizon_of(arrival_times(Load{.rate = 1000}, 500)) == 500ms);
}

TEST_CASE("Poisson arrivals have exponential gaps of the mean asked for, by seed", "[tool]") {
  const Load load{.rate = 1e4, .poisson = true, .seed = 7};
  const auto times = arrival_times(load, 20001);
  CHECK(times == arrival_times(load, 20001));
  CHECK(times != arrival_times(Load{.rate = 1e4, .poisson = true, .seed = 8}, 20001));
  CHECK(times[0] == 0ns);
  double sum = 0, squares = 0;
  std::size_t long_ones = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double gap = std::chrono::duration<double, std::micro>(times[i] - times[i - 1]).count();
    CHECK(gap >= 0);
    sum += gap;
    squares += gap * gap;
    long_ones += gap > 100 ? 1 : 0;
  }
  const double mean = sum / 20000;
  CHECK(mean == Approx(100).epsilon(0.03));
  CHECK(squares / 20000 - mean * mean == Approx(1e4).epsilon(0.1));  // the standard deviation is the mean
  CHECK(static_cast<double>(long_ones) / 20000 == Approx(0.368).margin(0.02));  // 1 / e
}

TEST_CASE("a load is sustained when its calls begin as fast as they arrive", "[tool]") {
  Answered answered{.latencies = {1, 2, 3}, .not_begun = 0, .offered_per_s = 1000, .achieved_per_s = 1000};
  CHECK(answered.sustained());
  answered.achieved_per_s = 991;
  CHECK(answered.sustained());
  answered.achieved_per_s = 980;
  CHECK_FALSE(answered.sustained());
  answered.achieved_per_s = 1000;
  answered.not_begun = 1;
  CHECK_FALSE(answered.sustained());
}

TEST_CASE("the verdict on a load names both rates and marks lower bounds", "[tool]") {
  Answered answered{
      .latencies = {1, 2, 3, 4}, .not_begun = 0, .offered_per_s = 1000, .achieved_per_s = 812.25};
  const std::string text = verdict("sr linear_scan fresh", answered);
  CHECK(text.starts_with(
      "NOT SUSTAINED by sr linear_scan fresh: 1000.0 calls a second arrived and 812.2 were"));
  CHECK(text.find("never") == std::string::npos);
  answered.not_begun = 3;
  CHECK(verdict("sr", answered).find("3 of 4 never, so that the latencies above are lower bounds") !=
        std::string::npos);
}

TEST_CASE("percentiles are values that were measured", "[tool]") {
  std::vector<float> values(1000);
  std::iota(values.rbegin(), values.rend(), 1.0F);
  const sr::tool::Percentiles ranks = sr::tool::percentiles(values);
  CHECK(ranks.p50 == 500);
  CHECK(ranks.p90 == 900);
  CHECK(ranks.p99 == 990);
  CHECK(ranks.p999 == 999);
  CHECK(ranks.max == 1000);
  const sr::tool::Percentiles few = sr::tool::percentiles({5, 4});
  CHECK(few.p50 == 4);
  CHECK(few.p999 == 5);
}
