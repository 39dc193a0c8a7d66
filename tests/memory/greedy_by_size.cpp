#include <vector>

#include <sr/memory/greedy_by_size.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/validate.hpp>

#include "support/catch.hpp"
#include "support/requests.hpp"

using namespace sr::memory;

// step    0 1 2 3 4 5 6 7 8
//   0 32  [---)
//   1 28    [-------)
//   2 36      [-------)
//   3 16        [-----)
//   4  8          [---)
//   5 64            [-----)
//   6 10              [-----)
//   7 40                [---)
// The figures are those of the paper's figure 6 as PyTorch's nativert tests them, with closed lifetimes made
// half-open.
TEST_CASE("greedy by size: the published eight tensors take 124 bytes", "[memory][greedy_by_size]") {
  std::vector<Request> requests;
  for (const auto& [first, last, bytes] : {std::tuple{0U, 1U, 32U},
                                           {1U, 4U, 28U},
                                           {2U, 5U, 36U},
                                           {3U, 5U, 16U},
                                           {4U, 5U, 8U},
                                           {5U, 7U, 64U},
                                           {6U, 8U, 10U},
                                           {7U, 8U, 40U}}) {
    requests.push_back({.bytes = bytes, .alignment = 1, .first = first, .end = last + 1});
  }
  CHECK(GreedyBySize::plan(requests) == Layout{{0, 32, 64, 100, 116, 0, 104, 64}, 124});
  CHECK(lower_bound(requests) == 124);
}

// step     0 1 2 3 4
//   A 100  [---)
//   B  80    [---)        lies behind A
//   C  60      [---)      goes where A was, before the first block alive
TEST_CASE("greedy by size: the gap before the first live block is a gap (XNNPACK 10800)",
          "[memory][greedy_by_size]") {
  const std::vector<Request> requests{{.bytes = 100, .alignment = 1, .first = 0, .end = 2},
                                      {.bytes = 80, .alignment = 1, .first = 1, .end = 3},
                                      {.bytes = 60, .alignment = 1, .first = 2, .end = 4}};
  CHECK(GreedyBySize::plan(requests) == Layout{{0, 100, 0}, 180});
}

// bytes  0        400    600   700  760 860      at step 1: gaps of 400, 100 below and between b, d
//   a 400 [a---------)                           steps [0, 1)
//   b 200            [b-----)                    steps [0, 2)
//   c 100                   [c---)               steps [0, 1)
//   d  90                        [d-)            steps [0, 2)
//   e  80                   [e-)                 steps [1, 2): the smaller gap, where c was
TEST_CASE("greedy by size: the smallest gap that fits", "[memory][greedy_by_size]") {
  const std::vector<Request> requests{{.bytes = 400, .alignment = 1, .first = 0, .end = 1},
                                      {.bytes = 200, .alignment = 1, .first = 0, .end = 2},
                                      {.bytes = 100, .alignment = 1, .first = 0, .end = 1},
                                      {.bytes = 90, .alignment = 1, .first = 0, .end = 2},
                                      {.bytes = 80, .alignment = 1, .first = 1, .end = 2}};
  CHECK(GreedyBySize::plan(requests) == Layout{{0, 400, 600, 700, 600}, 790});
}

// step    0 1 2 3 4
//   a     [---)
//   b       [---)         all three over each other, in whatever order they are placed
//   c         [---)
TEST_CASE("greedy by size: a chain in place", "[memory][greedy_by_size][in_place]") {
  const Request a{.bytes = 256, .first = 0, .end = 2};
  const Request b{.bytes = 256, .first = 1, .end = 3};
  const Request c{.bytes = 256, .first = 2, .end = 4};
  const auto over = [](Request request, std::uint32_t input) {
    request.may_reuse_input = input;
    return request;
  };
  const auto total = [](const std::vector<Request>& requests) { return GreedyBySize::plan(requests).total; };
  CHECK(total({a, over(b, 0), over(c, 1)}) == 256);
  CHECK(total({over(c, 1), over(b, 2), a}) == 256);
  CHECK(total({a, over(c, 2), over(b, 0)}) == 256);
}

TEST_CASE("greedy by size: nets come within 6 % of the bound", "[memory][greedy_by_size][nets]") {
  for (const auto& [name, requests] : sr::test::nets()) {
    INFO(name);
    CHECK(static_cast<double>(GreedyBySize::plan(requests).total) <=
          1.06 * static_cast<double>(lower_bound(requests)));
  }
}
