#include <array>
#include <random>

#include <sr/memory/linear_scan.hpp>
#include <sr/memory/reordering.hpp>
#include <sr/memory/validate.hpp>

#include "support/catch.hpp"
#include "support/requests.hpp"

using namespace sr::memory;

namespace {

// Two layers of a small encoder on 3 x 12 words, as a program requests them: bytes, first and last step.
constexpr std::array<std::array<StepIndex, 3>, 28> kEncoder{
    {{4608, 0, 2},   {4608, 1, 12},  {144, 2, 21},   {4608, 3, 7},   {4608, 4, 7},   {4608, 5, 9},
     {6912, 6, 8},   {6912, 7, 9},   {4608, 8, 10},  {4608, 9, 11},  {4608, 10, 12}, {4608, 11, 16},
     {9216, 12, 14}, {9216, 13, 15}, {4608, 14, 16}, {4608, 15, 25}, {4608, 16, 20}, {4608, 17, 20},
     {4608, 18, 22}, {6912, 19, 21}, {6912, 20, 22}, {4608, 21, 23}, {4608, 22, 24}, {4608, 23, 25},
     {4608, 24, 29}, {9216, 25, 27}, {9216, 26, 28}, {4608, 27, 29}}};

std::vector<Request> encoder() {
  std::vector<Request> requests;
  for (const auto& [bytes, first, last] : kEncoder)
    requests.push_back({.bytes = bytes, .alignment = 64, .first = first, .end = last});
  return requests;
}

}  // namespace

TEST_CASE("reordering: finds the bound where no one pass does", "[memory][reordering]") {
  const std::vector<Request> requests = encoder();
  const Bytes bound = lower_bound(requests);
  CHECK(bound == 25536);
  CHECK(LinearScan::plan(requests).total > bound + bound / 50);
  const Layout layout = plan_for_long<LinearScan>(requests);
  CHECK(layout.total == bound);
  CHECK_FALSE(validate(requests, layout));
  CHECK(plan_for_long<LinearScan>(requests) == layout);
}

TEST_CASE("reordering: right and never worse, with outputs over inputs and odd alignments",
          "[memory][reordering]") {
  std::mt19937 random(5);
  int better = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Request> requests;
    for (StepIndex i = 0; i < 30; ++i) {
      const StepIndex first = static_cast<StepIndex>(random() % 20);
      requests.push_back(
          {.bytes = random() % 5 == 0 ? 0 : 1 + random() % 10'000,
           .alignment = Bytes{1} << random() % 8,
           .first = first,
           .end = first + static_cast<StepIndex>(random() % 6),
           .may_reuse_input = random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 31) : kNoRequest});
    }
    const Layout before = LinearScan::plan(requests);
    const Layout after = Reordering::improve(requests, before);
    REQUIRE_FALSE(validate(requests, after));
    REQUIRE(after.total <= before.total);
    better += after.total < before.total ? 1 : 0;
  }
  CHECK(better > 0);
}

TEST_CASE("reordering: leaves alone what is good or large", "[memory][reordering]") {
  CHECK(Reordering::improve({}, Layout{}) == Layout{});
  const std::vector<Request> one{{.bytes = 100, .first = 0, .end = 2}};
  CHECK(Reordering::improve(one, LinearScan::plan(one)) == LinearScan::plan(one));
}
