#include <algorithm>
#include <numeric>
#include <vector>

#include <sr/memory/standard_resizing.hpp>
#include <sr/memory/validate.hpp>

#include "support/catch.hpp"
#include "support/requests.hpp"

using namespace sr::memory;

namespace {

// Upstream's choice, for comparison: the group that became free last, regardless of its size.
Bytes last_in_first_out(const std::vector<Request>& requests) {
  std::vector<Bytes> groups;
  std::vector<std::size_t> free_groups;
  std::vector<std::size_t> group_of(requests.size());
  std::vector<bool> released(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {  // the requests of the tests are in order of birth
    for (std::size_t j = 0; j < i; ++j) {
      if (released[j] || requests[j].end > requests[i].first) continue;
      released[j] = true;
      free_groups.push_back(group_of[j]);
    }
    if (free_groups.empty()) {
      group_of[i] = groups.size();
      groups.push_back(0);
    } else {
      group_of[i] = free_groups.back();
      free_groups.pop_back();
    }
    groups[group_of[i]] = std::max(groups[group_of[i]], align_up(requests[i].bytes));
  }
  return std::accumulate(groups.begin(), groups.end(), Bytes{0});
}

}  // namespace

// step     0 1 2 3 4
//   a 100  [---)
//   b 300    [---)
//   c  50      [---)      with a
//   d 200        [---)    with b
TEST_CASE("standard resizing: lifetimes that do not meet share a group", "[memory][standard_resizing]") {
  const std::vector<Request> requests{{.bytes = 100, .first = 0, .end = 2},
                                      {.bytes = 300, .first = 1, .end = 3},
                                      {.bytes = 50, .first = 2, .end = 4},
                                      {.bytes = 200, .first = 3, .end = 5}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 128, 0, 128}, 448});
}

// step     0 1 2
//   a 128  [-)
//   b 256  [-)
//   c 192    [-)          into b, the only one large enough
//   d  64    [-)          into a
TEST_CASE("standard resizing: the smallest group that is large enough", "[memory][standard_resizing]") {
  const std::vector<Request> requests{{.bytes = 128, .first = 0, .end = 1},
                                      {.bytes = 256, .first = 0, .end = 1},
                                      {.bytes = 192, .first = 1, .end = 2},
                                      {.bytes = 64, .first = 1, .end = 2}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 128, 128, 0}, 384});
}

// step     0 1 2
//   a 128  [-)
//   b 256  [-)
//   c 320    [-)          nothing is large enough: b grows by 64, a would by 192
TEST_CASE("standard resizing: else the largest grows", "[memory][standard_resizing]") {
  const std::vector<Request> requests{{.bytes = 128, .first = 0, .end = 1},
                                      {.bytes = 256, .first = 0, .end = 1},
                                      {.bytes = 320, .first = 1, .end = 2}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 128, 128}, 448});
}

// step     0 1 2 3 4
//   a 256  [---)
//   b 256    [---)        over a, and the group stays taken until b dies
//   c 256      [---)
TEST_CASE("standard resizing: an output joins the group of its dying input",
          "[memory][standard_resizing][in_place]") {
  const std::vector<Request> requests{{.bytes = 256, .first = 0, .end = 2},
                                      {.bytes = 256, .first = 1, .end = 3, .may_reuse_input = 0},
                                      {.bytes = 256, .first = 2, .end = 4}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 0, 256}, 512});
}

// step     0 1 2 3 4
//   a 256  [---)
//   b  64    [---)        over a it would keep 256 bytes from c
//   c 256      [---)
TEST_CASE("standard resizing: not in place where that takes more", "[memory][standard_resizing][in_place]") {
  const std::vector<Request> requests{{.bytes = 256, .first = 0, .end = 2},
                                      {.bytes = 64, .first = 1, .end = 3, .may_reuse_input = 0},
                                      {.bytes = 256, .first = 2, .end = 4}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 256, 0}, 320});
}

TEST_CASE("standard resizing: a group is as aligned as its strictest member", "[memory][standard_resizing]") {
  const std::vector<Request> requests{{.bytes = 64, .first = 0, .end = 9},
                                      {.bytes = 64, .first = 0, .end = 1},
                                      {.bytes = 64, .alignment = 1024, .first = 1, .end = 2}};
  CHECK(StandardResizing::plan(requests) == Layout{{0, 1024, 1024}, 2048});
}

TEST_CASE("standard resizing: never more than upstream's groups on nets",
          "[memory][standard_resizing][nets]") {
  for (const auto& [name, requests] : sr::test::nets()) {
    INFO(name);
    CHECK(StandardResizing::plan(requests).total <= last_in_first_out(requests));
  }
}
