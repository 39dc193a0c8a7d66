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

// Returns the total of a layout that it has validated.
Bytes planned(const std::vector<Request>& requests) {
  const Layout layout = LinearScan::plan(requests);
  CHECK(validate(requests, layout).value_or("") == "");
  return layout.total;
}

}  // namespace

// step     0 1 2 3 4 5
//   a 128  [---)
//   b  64    [---)
//   c 128      [---)       a and c at one end of the buffer, b and d at the other
//   d  64        [---)
TEST_CASE("linear scan: a chain goes back and forth between two ends", "[memory][linear_scan]") {
  const std::vector<Request> requests{{.bytes = 128, .first = 0, .end = 2},
                                      {.bytes = 64, .first = 1, .end = 3},
                                      {.bytes = 128, .first = 2, .end = 4},
                                      {.bytes = 64, .first = 3, .end = 5}};
  CHECK(LinearScan::plan(requests) == Layout{{0, 128, 0, 128}, 192});
}

// step     0 1 2 3
//   a  64  [-)
//   b  64  [-)
//   c  64  [-)
//   d 192    [-)           fits only if the three holes have become one
TEST_CASE("linear scan: holes beside each other join", "[memory][linear_scan]") {
  const std::vector<Request> requests{{.bytes = 64, .first = 0, .end = 1},
                                      {.bytes = 64, .first = 0, .end = 1},
                                      {.bytes = 64, .first = 0, .end = 1},
                                      {.bytes = 192, .first = 1, .end = 2}};
  CHECK(planned(requests) == 192);
}

// step     0 1 2 3 4
//   a  64  [---)
//   b 128    [---)
//   c 192      [---)       widening: every forward scan meets a hole that is just too small
//   d 256        [---)
TEST_CASE("linear scan: a widening net is read backwards", "[memory][linear_scan]") {
  std::vector<Request> requests;
  for (StepIndex step = 0; step < 12; ++step) {
    requests.push_back({.bytes = 64 * (Bytes{step} + 1), .first = step, .end = step + 2});
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
  const std::vector<Request> requests{{.bytes = 256, .first = 0, .end = 2},
                                      {.bytes = 256, .first = 1, .end = 3, .may_reuse_input = 0},
                                      {.bytes = 128, .first = 2, .end = 4, .may_reuse_input = 1},
                                      {.bytes = 128, .first = 3, .end = 4}};
  CHECK(LinearScan::plan(requests) == Layout{{0, 0, 0, 128}, 256});
}

TEST_CASE("linear scan: a misaligned input is not overwritten", "[memory][linear_scan][in_place]") {
  const std::vector<Request> requests{
      {.bytes = 64, .first = 0, .end = 4},
      {.bytes = 4096, .first = 0, .end = 2},
      {.bytes = 4096, .alignment = 4096, .first = 1, .end = 3, .may_reuse_input = 1}};
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
    for (StepIndex step = 0; step < 30; ++step) {
      requests.push_back({.bytes = 1 + random() % 100'000, .first = step, .end = step + 2});
    }
    REQUIRE(planned(requests) == lower_bound(requests));
  }
}

TEST_CASE("buffer: released blocks join on both sides", "[memory][buffer]") {
  FreeList buffer(192, 8);
  const auto a = buffer.take(64, 64, 1);
  const auto b = buffer.take(64, 64, 1);
  const auto c = buffer.take(64, 64, 1);
  buffer.release(a);
  buffer.release(c);
  buffer.release(b);
  CHECK(buffer.offset(buffer.take(192, 64, 2)) == 0);
}

TEST_CASE("buffer: the free end grows by what is missing only", "[memory][buffer]") {
  FreeList buffer(128, 8);
  const auto low = buffer.take(64, 64, 5);
  CHECK(buffer.offset(low) == 0);
  CHECK(buffer.offset(buffer.take(256, 64, 5)) == 64);
  buffer.release(low);
  CHECK(buffer.offset(buffer.take(128, 64, 5)) == 320);
  CHECK(buffer.offset(buffer.take(64, 64, 5)) == 0);
}

TEST_CASE("buffer: the smallest hole that fits, aligned", "[memory][buffer]") {
  FreeList buffer(0, 8);
  const auto a = buffer.take(192, 64, 9);  // at 0
  buffer.take(64, 64, 9);                  // at 192
  const auto c = buffer.take(128, 64, 9);  // at 256
  buffer.take(64, 64, 9);                  // at 384
  buffer.release(a);
  buffer.release(c);
  CHECK(buffer.offset(buffer.take(128, 128, 9)) == 256);
  CHECK(buffer.offset(buffer.take(64, 4096, 9)) == 0);
  CHECK(buffer.offset(buffer.take(64, 4096, 9)) == 4096);
}
