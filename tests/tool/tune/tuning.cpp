// What sr tune derives from its measurements: the recommended setting, and the picture.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../src/tool/drawing/chart.hpp"
#include "../src/tool/drawing/tune_plot.hpp"
#include "../src/tool/verbs/tune/tune_point.hpp"
#include "support/catch.hpp"

using sr::tool::counts_to_try;
using sr::tool::linear_marks;
using sr::tool::logarithmic_marks;
using sr::tool::recommend;
using sr::tool::TunePoint;
using sr::tool::Tuning;

namespace {

TunePoint point(std::int64_t batch, int threads, int callers, double p99_us, double calls_per_s) {
  return {batch, threads, callers, p99_us / 2, p99_us, calls_per_s};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("without a goal the highest throughput is recommended, in examples where there are batches",
          "[tool]") {
  const std::vector<TunePoint> calls{point(0, 1, 1, 10, 100), point(0, 1, 2, 20, 180),
                                     point(0, 2, 1, 6, 150)};
  CHECK(recommend(calls, 0) == std::optional<std::size_t>(1));
  const std::vector<TunePoint> batches{point(1, 1, 1, 10, 100), point(8, 1, 1, 60, 15),
                                       point(32, 1, 1, 300, 3)};
  CHECK(recommend(batches, 0) == std::optional<std::size_t>(1));  // 100, 120, 96
}

TEST_CASE("a latency goal excludes slower settings, whatever their throughput", "[tool]") {
  const std::vector<TunePoint> points{point(0, 1, 1, 10, 100), point(0, 1, 2, 20, 180),
                                      point(0, 2, 1, 6, 150)};
  CHECK(recommend(points, 20) == std::optional<std::size_t>(1));  // the goal itself counts as met
  CHECK(recommend(points, 19.9) == std::optional<std::size_t>(2));
  CHECK(recommend(points, 5) == std::nullopt);
  CHECK(sr::tool::fastest(points) == 2);
}

TEST_CASE("among equally good settings the one with the fewest threads is recommended", "[tool]") {
  const std::vector<TunePoint> points{point(0, 4, 4, 50, 1000), point(0, 2, 2, 40, 985),
                                      point(0, 1, 2, 90, 970), point(0, 1, 4, 30, 990)};
  // 970 is more than two percent less; 2 x 2 and 1 x 4 use as many threads, so the shorter p99 decides.
  CHECK(recommend(points, 0) == std::optional<std::size_t>(3));
}

TEST_CASE("thread counts to try end with all processors", "[tool]") {
  CHECK(counts_to_try(1) == std::vector<int>{1});
  CHECK(counts_to_try(2) == std::vector<int>{1, 2});
  CHECK(counts_to_try(6) == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(counts_to_try(24) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 24});
  CHECK(counts_to_try(128).size() < 25);
}

TEST_CASE("more threads in all than processors are too many", "[tool]") {
  CHECK_FALSE(point(0, 2, 2, 1, 1).oversubscribed(4));
  CHECK(point(0, 3, 2, 1, 1).oversubscribed(4));
  CHECK(text_of(point(8, 2, 1, 1, 1)) == "batch 8, 2 intra-op threads, 1 caller");
  CHECK(text_of(point(0, 1, 3, 1, 1)) == "1 intra-op thread, 3 callers");
}

TEST_CASE("the marks of axes are round and reach around the values", "[tool]") {
  CHECK(linear_marks(10) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(linear_marks(730) == std::vector<double>{0, 200, 400, 600, 800});
  CHECK(logarithmic_marks(30, 1500) == std::vector<double>{20, 50, 100, 200, 500, 1000, 2000});
  CHECK(logarithmic_marks(10, 10) == std::vector<double>{10, 20});
  for (const double most : {1e-4, 0.03, 7.0, 12.5, 99.0, 1e7}) {
    INFO(most);
    CHECK(linear_marks(most).back() >= most);
    CHECK(linear_marks(most).size() >= 3);
    CHECK(linear_marks(most).size() <= 8);
    CHECK(logarithmic_marks(most, 40 * most).front() <= most);
    CHECK(logarithmic_marks(most, 40 * most).back() >= 40 * most);
  }
}

TEST_CASE("the picture of a sweep has p50, p99 and throughput of each batch and number of callers",
          "[tool]") {
  Tuning tuning;
  tuning.title = "a<b.pt";
  tuning.processors = 4;
  for (const std::int64_t batch : {1, 8}) {
    for (const int threads : {1, 2, 4}) {
      for (const int callers : {1, 2}) tuning.points.push_back(point(batch, threads, callers, 10, 100));
    }
  }
  const std::string svg = tuning_svg(tuning);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "a&lt;b.pt, 4 processors") == 1);
  CHECK(count(svg, "<polyline") == 12);
  CHECK(count(svg, "<circle") == 36);
  CHECK(count(svg, ">batch 8, 2 callers, p99</text>") == 1);
  CHECK(count(svg, ">examples a second</text>") == 1);
  CHECK(count(svg, "nan") == 0);
  CHECK(count(svg, "inf") == 0);
}

TEST_CASE("a picture of one point, and one of very different values, can be drawn", "[tool]") {
  Tuning tuning;
  tuning.title = "mm";
  tuning.points = {point(0, 1, 1, 10, 100)};
  CHECK(count(tuning_svg(tuning), "nan") == 0);
  CHECK(count(tuning_svg(tuning), "logarithmic") == 0);
  tuning.points.push_back(point(0, 2, 1, 4000, 90));
  CHECK(count(tuning_svg(tuning), "microseconds (logarithmic)") == 1);
  CHECK(count(tuning_svg(tuning), "calls a second</text>") == 1);
  tuning.points.push_back(point(0, 3, 1, 4000, 1500000));
  CHECK(count(tuning_svg(tuning), ">1000000</text>") == 1);
}
