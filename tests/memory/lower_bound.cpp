#include <vector>

#include <sr/memory/lower_bound.hpp>

#include "support/catch.hpp"

using namespace sr::memory;

namespace {

Bytes bound(const std::vector<Request>& requests) {
  return lower_bound(requests);
}

}  // namespace

TEST_CASE("lower bound: nothing is alive", "[memory][lower_bound]") {
  CHECK(bound({}) == 0);
  CHECK(bound({{.bytes = 0, .first = 0, .end = 9}}) == 0);
}

// step     0 1 2 3
//   a 100  [---)
//   b 100    [---)        128 + 128 at step 1
//   c 300      [-)        128 + 320 at step 2
TEST_CASE("lower bound: the most bytes alive at once, rounded up", "[memory][lower_bound]") {
  CHECK(bound({{.bytes = 100, .first = 0, .end = 2},
               {.bytes = 100, .first = 1, .end = 3},
               {.bytes = 300, .first = 2, .end = 3}}) == 448);
}

TEST_CASE("lower bound: lifetimes are half-open", "[memory][lower_bound]") {
  CHECK(bound({{.bytes = 64, .first = 0, .end = 2}, {.bytes = 64, .first = 2, .end = 4}}) == 64);
  CHECK(bound({{.bytes = 64, .first = 0, .end = 2}, {.bytes = 64, .first = 1, .end = 4}}) == 128);
}

// step     0 1 2 3
//   a 256  [---)
//   b 128    [---)        may overwrite a: 256 at step 1, 128 after
TEST_CASE("lower bound: in place counts the larger, not the sum", "[memory][lower_bound][in_place]") {
  const Request input{.bytes = 256, .first = 0, .end = 2};
  const Request output{.bytes = 128, .first = 1, .end = 3, .may_reuse_input = 0};
  CHECK(bound({input, output}) == 256);
  CHECK(bound({input, output, {.bytes = 192, .first = 2, .end = 3}}) == 320);

  Request one_step = output;
  one_step.end = 2;
  CHECK(bound({input, one_step}) == 256);
}

TEST_CASE("lower bound: of two outputs over one input the larger is free",
          "[memory][lower_bound][in_place]") {
  const Request input{.bytes = 256, .first = 0, .end = 2};
  const Request small{.bytes = 64, .first = 1, .end = 3, .may_reuse_input = 0};
  const Request large{.bytes = 256, .first = 1, .end = 3, .may_reuse_input = 0};
  CHECK(bound({input, small, large}) == 320);
  CHECK(bound({input, large, small}) == 320);
}

TEST_CASE("lower bound: a hint that does not hold saves nothing", "[memory][lower_bound][in_place]") {
  const Request output{.bytes = 128, .first = 1, .end = 3, .may_reuse_input = 0};
  CHECK(bound({{.bytes = 128, .first = 0, .end = 3}, output}) == 256);
  CHECK(bound({{.bytes = 64, .first = 0, .end = 2}, output}) == 192);
}

TEST_CASE("no reuse bytes: the sum", "[memory][lower_bound]") {
  CHECK(no_reuse_bytes({}) == 0);
  const std::vector<Request> requests{{.bytes = 100, .first = 0, .end = 1},
                                      {.bytes = 0, .first = 0, .end = 1},
                                      {.bytes = 1, .first = 5, .end = 6}};
  CHECK(no_reuse_bytes(requests) == 192);
}
