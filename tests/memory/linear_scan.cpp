#include <random>
#include <vector>

#include <sr/memory/free_list.hpp>
#include <sr/memory/linear_scan.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/validate.hpp>

#include "support/catch.hpp"
#include "support/requests.hpp"

using namespace sr::memory;

namespace {

// The total, after making sure that the layout is right.
Bytes planned(const std::vector<Request>& requests) {
  const Layout layout = LinearScan::plan(requests);
  CHECK(validate(requests, layout).value_or("") == "");
  return layout.total;
}

}  // namespace

// step     0 1 2 3 4 5
//   a 128  [---)
//   b  64    [---)
//   c 128      [---)       a and c at one end of the slab, b and d at the other
//   d  64        [---)
TEST_CASE("linear scan: a chain goes back and forth between two ends", "[memory][linear_scan]") {
  const std::vector<Request> requests{{.bytes = 128, .first = 0, .last = 2},
                                      {.bytes = 64, .first = 1, .last = 3},
                                      {.bytes = 128, .first = 2, .last = 4},
                                      {.bytes = 64, .first = 3, .last = 5}};
  CHECK(LinearScan::plan(requests) == Layout{{0, 128, 0, 128}, 192});
}

// step     0 1 2 3
//   a  64  [-)
//   b  64  [-)
//   c  64  [-)
//   d 192    [-)           fits only if the three holes have become one
TEST_CASE("linear scan: holes beside each other join", "[memory][linear_scan]") {
  const std::vector<Request> requests{{.bytes = 64, .first = 0, .last = 1},
                                      {.bytes = 64, .first = 0, .last = 1},
                                      {.bytes = 64, .first = 0, .last = 1},
                                      {.bytes = 192, .first = 1, .last = 2}};
  CHECK(planned(requests) == 192);
}

// step     0 1 2 3 4
//   a  64  [---)
//   b 128    [---)
//   c 192      [---)       widening: every forward scan meets a hole that is just too small
//   d 256        [---)
TEST_CASE("linear scan: a widening net is read backwards", "[memory][linear_scan]") {
  std::vector<Request> requests;
  for (Step step = 0; step < 12; ++step) {
    requests.push_back({.bytes = 64 * (Bytes{step} + 1), .first = step, .last = step + 2});
  }
  CHECK(planned(requests) == lower_bound(requests));
}

// step     0 1 2 3 4
//   a 256  [---)
//   b 256    [---)         b over a
//   c 128      [---)       c over the front of b; the rest is free from step 3
//   d 128        [-)
TEST_CASE("linear scan: an output written in place keeps the offset and gives back the rest",
          "[memory][linear_scan][in_place]") {
  const std::vector<Request> requests{{.bytes = 256, .first = 0, .last = 2},
                                      {.bytes = 256, .first = 1, .last = 3, .may_reuse_input = 0},
                                      {.bytes = 128, .first = 2, .last = 4, .may_reuse_input = 1},
                                      {.bytes = 128, .first = 3, .last = 4}};
  CHECK(LinearScan::plan(requests) == Layout{{0, 0, 0, 128}, 256});
}

TEST_CASE("linear scan: a misaligned input is not overwritten", "[memory][linear_scan][in_place]") {
  const std::vector<Request> requests{
      {.bytes = 64, .first = 0, .last = 4},
      {.bytes = 4096, .first = 0, .last = 2},
      {.bytes = 4096, .alignment = 4096, .first = 1, .last = 3, .may_reuse_input = 1}};
  planned(requests);
}

TEST_CASE("linear scan: typical nets come within 5 % of the bound", "[memory][linear_scan][nets]") {
  for (const auto& [name, requests] : sr::test::nets()) {
    INFO(name);
    const Bytes bound = lower_bound(requests);
    CHECK(planned(requests) <= bound + bound / 20);
  }
}

TEST_CASE("linear scan: transformers of every size come within 5 % of the bound",
          "[memory][linear_scan][nets]") {
  for (const Bytes sequence : {1, 16, 100, 197, 384, 512, 2048}) {
    for (const Bytes width : {64, 256, 768, 1024}) {
      for (const bool in_place : {false, true}) {
        INFO("sequence " << sequence << ", width " << width << ", in place " << in_place);
        const auto requests = sr::test::transformer_net(in_place, sequence, width, 3);
        const Bytes bound = lower_bound(requests);
        CHECK(planned(requests) <= bound + bound / 20);
      }
    }
  }
}

TEST_CASE("linear scan: random chains meet the bound", "[memory][linear_scan][random]") {
  std::mt19937 random(99);
  for (int round = 0; round < 500; ++round) {
    std::vector<Request> requests;
    for (Step step = 0; step < 30; ++step) {
      requests.push_back({.bytes = 1 + random() % 100'000, .first = step, .last = step + 2});
    }
    REQUIRE(planned(requests) == lower_bound(requests));
  }
}

TEST_CASE("slab: released blocks join on both sides", "[memory][slab]") {
  FreeList slab(192, 8);
  const auto a = slab.take(64, 64, 1);
  const auto b = slab.take(64, 64, 1);
  const auto c = slab.take(64, 64, 1);
  slab.release(a);
  slab.release(c);
  slab.release(b);
  CHECK(slab.offset(slab.take(192, 64, 2)) == 0);
}

TEST_CASE("slab: the free end grows by what is missing only", "[memory][slab]") {
  FreeList slab(128, 8);
  const auto low = slab.take(64, 64, 5);
  CHECK(slab.offset(low) == 0);
  CHECK(slab.offset(slab.take(256, 64, 5)) == 64);
  slab.release(low);
  CHECK(slab.offset(slab.take(128, 64, 5)) == 320);
  CHECK(slab.offset(slab.take(64, 64, 5)) == 0);
}

TEST_CASE("slab: the smallest hole that fits, aligned", "[memory][slab]") {
  FreeList slab(0, 8);
  const auto a = slab.take(192, 64, 9);  // at 0
  slab.take(64, 64, 9);                  // at 192
  const auto c = slab.take(128, 64, 9);  // at 256
  slab.take(64, 64, 9);                  // at 384
  slab.release(a);
  slab.release(c);
  CHECK(slab.offset(slab.take(128, 128, 9)) == 256);
  CHECK(slab.offset(slab.take(64, 4096, 9)) == 0);
  CHECK(slab.offset(slab.take(64, 4096, 9)) == 4096);
}
