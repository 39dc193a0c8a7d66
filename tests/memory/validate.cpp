#include <limits>
#include <random>
#include <string>
#include <vector>

#include <sr/memory/linear_scan.hpp>
#include <sr/memory/validate.hpp>

#include "support/catch.hpp"
#include "support/requests.hpp"

using namespace sr::memory;

namespace {

std::string fault(const std::vector<Request>& requests, const Layout& layout) {
  return validate(requests, layout).value_or("right");
}

const std::vector<Request> kTwo{{.bytes = 100, .first = 0, .end = 3}, {.bytes = 64, .first = 2, .end = 5}};

}  // namespace

TEST_CASE("validate: a right layout", "[memory][validate]") {
  CHECK(fault({}, {}) == "right");
  CHECK(fault(kTwo, {{0, 128}, 192}) == "right");
  CHECK(fault(kTwo, {{64, 0}, 164}) == "right");  // a total need not be rounded
}

TEST_CASE("validate: a wrong number of offsets", "[memory][validate]") {
  CHECK(fault(kTwo, {{0}, 192}) == "the layout has 1 offsets for 2 requests.");
  CHECK(fault({}, {{0}, 192}) == "the layout has 1 offsets for 0 requests.");
}

TEST_CASE("validate: an offset that is not aligned", "[memory][validate]") {
  CHECK(fault(kTwo, {{0, 136}, 256}) ==
        "request 1 is at offset 136, which is not a multiple of its alignment 64.");
}

TEST_CASE("validate: outside the buffer", "[memory][validate]") {
  CHECK(fault(kTwo, {{0, 128}, 191}) ==
        "request 1 at bytes [128, 192), alive in steps [2, 5), is outside the buffer of 191 bytes.");
  CHECK(fault({{.bytes = 0, .first = 0, .end = 1}}, {{64}, 0}) ==
        "request 0 at bytes [64, 64), alive in steps [0, 1), is outside the buffer of 0 bytes.");
}

TEST_CASE("validate: an end that overflows", "[memory][validate]") {
  const Bytes most = std::numeric_limits<Bytes>::max();
  CHECK(fault({{.bytes = 128, .first = 0, .end = 1}}, {{most - 63}, most}) ==
        "request 0 is at offset 18446744073709551552 with 128 bytes: its end overflows the address space.");
}

// step    0 1 2 3 4 5       bytes   0     64    100   128
//   0     [-----)             0     [-----------)
//   1         [-----)         1           [-----------)
TEST_CASE("validate: bytes of two at one step", "[memory][validate]") {
  CHECK(fault(kTwo, {{0, 64}, 192}) ==
        "request 0 at bytes [0, 100), alive in steps [0, 3), overlaps request 1 at bytes [64, 128), alive in "
        "steps "
        "[2, 5).");
  CHECK(fault(kTwo, {{0, 0}, 192}) != "right");
}

TEST_CASE("validate: both intervals are half-open", "[memory][validate]") {
  std::vector<Request> requests = kTwo;
  requests[1].first = 3;
  CHECK(fault(requests, {{0, 0}, 192}) == "right");
  requests[1].first = 2;
  requests[0].bytes = 64;
  CHECK(fault(requests, {{0, 64}, 192}) == "right");
}

TEST_CASE("validate: requests that make no sense", "[memory][validate]") {
  CHECK(fault({{.bytes = 1, .alignment = 48, .first = 0, .end = 1}}, {{0}, 64}) ==
        "request 0 asks for an alignment of 48, which is not a power of two.");
  CHECK(fault({{.bytes = 1, .alignment = 0, .first = 0, .end = 1}}, {{0}, 64}) ==
        "request 0 asks for an alignment of 0, which is not a power of two.");
  CHECK(fault({{.bytes = 1, .first = 7, .end = 5}}, {{0}, 64}) ==
        "request 0 is alive in steps [7, 5), which ends before it begins.");
}

TEST_CASE("validate: zero bytes never conflict", "[memory][validate]") {
  CHECK(fault({{.bytes = 0, .first = 0, .end = 9}, {.bytes = 64, .first = 0, .end = 9}}, {{0, 0}, 64}) ==
        "right");
}

TEST_CASE("validate: in place at exactly the offset of the dying input", "[memory][validate][in_place]") {
  std::vector<Request> requests{{.bytes = 128, .first = 0, .end = 3},
                                {.bytes = 128, .first = 2, .end = 5, .may_reuse_input = 0}};
  const Layout over{{0, 0}, 192};
  CHECK(fault(requests, over) == "right");

  const auto reason = [&](const Layout& layout) {
    const std::string text = fault(requests, layout);
    return text.substr(text.find(';') + 2);
  };
  CHECK(reason({{0, 64}, 192}) == "it may not be written in place because the offsets differ.");
  requests[1].bytes = 192;
  CHECK(reason(over) == "it may not be written in place because the output is larger than the input.");
  requests[1].bytes = 64;
  CHECK(fault(requests, over) == "right");
  CHECK(reason({{0, 64}, 192}) == "it may not be written in place because the offsets differ.");
  requests[0].end = 4;
  CHECK(reason(over) ==
        "it may not be written in place because the input does not die where the output is born.");
  requests[0] = {.bytes = 128, .first = 2, .end = 3};
  CHECK(reason(over) == "it may not be written in place because the input is not born before the output.");
}

TEST_CASE("validate: the index order of an in-place pair does not matter", "[memory][validate][in_place]") {
  CHECK(fault({{.bytes = 128, .first = 2, .end = 5, .may_reuse_input = 1},
               {.bytes = 128, .first = 0, .end = 3}},
              {{0, 0}, 128}) == "right");
}

TEST_CASE("validate: two outputs over one input overlap each other", "[memory][validate][in_place]") {
  const Request output{.bytes = 64, .first = 2, .end = 5, .may_reuse_input = 0};
  CHECK(fault({{.bytes = 64, .first = 0, .end = 3}, output, output}, {{0, 0, 0}, 64}) ==
        "request 1 at bytes [0, 64), alive in steps [2, 5), overlaps request 2 at bytes [0, 64), alive in "
        "steps "
        "[2, 5).");
}

// Every valid layout with one defect is rejected.
TEST_CASE("validate: mutations of right plans", "[memory][validate][random]") {
  std::mt19937 random(31337);
  int moved = 0;
  for (int round = 0; round < 500; ++round) {
    const auto requests = sr::test::random_requests(random, {.count = 30, .in_place = false});
    const Layout right = LinearScan::plan(requests);
    REQUIRE(validate(requests, right) == std::nullopt);

    Layout broken = right;
    broken.offsets.pop_back();
    REQUIRE(validate(requests, broken).value().find("29 offsets for 30 requests") != std::string::npos);

    const std::size_t i = random() % requests.size();
    const std::string who = "request " + std::to_string(i) + " ";
    broken = right;
    broken.offsets[i] += 1 + random() % 63;
    REQUIRE(validate(requests, broken).value().find(who) == 0);

    broken = right;
    broken.offsets[i] = align_up(right.total) + 64;
    REQUIRE(validate(requests, broken).value().find(who) == 0);

    // Placed onto another one that is alive at the same time.
    for (std::size_t j = 0; j < requests.size(); ++j) {
      const Request& a = requests[i];
      const Request& b = requests[j];
      if (i == j || a.bytes == 0 || b.bytes == 0 || a.first >= b.end || b.first >= a.end) continue;
      broken = right;
      broken.offsets[i] = right.offsets[j];
      broken.total = 2 * right.total;
      const std::string named = validate(requests, broken).value();
      REQUIRE(named.find("overlaps") != std::string::npos);
      REQUIRE(named.find(who) != std::string::npos);
      ++moved;
    }
  }
  CHECK(moved > 1000);
}
