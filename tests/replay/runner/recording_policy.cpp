// When a signature is recorded.
#include <cstdint>
#include <string>

#include <sr/replay/runner/call_counts.hpp>
#include <sr/replay/runner/recording_policy.hpp>

#include "support/catch.hpp"

namespace sr::test::recording_policy_tests {

using replay::CallCounts;
using replay::RecordingPolicy;

TEST_CASE("signatures that are called in turn do not displace each other's counts", "[replay]") {
  for (const std::uint64_t distance : {1, 2, 64, 128, 256, 512, 4096}) {
    CallCounts counts;
    for (std::uint32_t time = 1; time <= 5; ++time) {
      CHECK(counts.count(7) == time);
      CHECK(counts.count(7 + distance) == time);
    }
  }
}

TEST_CASE("the signature that came least recently is forgotten first", "[replay]") {
  CallCounts counts;
  for (std::uint64_t i = 0; i < CallCounts::kWays; ++i) counts.count(i * CallCounts::kSets);
  CHECK(counts.count(0) == 2);
  counts.count(CallCounts::kWays * CallCounts::kSets);
  CHECK(counts.count(0) == 3);
  CHECK(counts.count(CallCounts::kSets) == 1);
}

TEST_CASE("a signature with hash 0 is counted as any other", "[replay]") {
  CallCounts counts;
  CHECK(counts.count(0) == 1);
  CHECK(counts.count(0) == 2);
}

TEST_CASE("a signature is to be recorded when it comes back, unless it has bailed out", "[replay]") {
  RecordingPolicy policy(8);
  CHECK(policy.why_not(1, /*is_full=*/false, 0) != Miss::none);
  CHECK(policy.why_not(1, /*is_full=*/false, 0) == Miss::none);
  policy.note_bailout(1, "reason", /*is_of_call=*/false);
  CHECK(policy.why_not(1, /*is_full=*/false, 0) != Miss::none);
  CHECK(policy.reasons() == std::vector<std::string>{"reason"});
  CHECK_FALSE(policy.is_hopeless(0));
  for (std::uint64_t signature = 2; signature <= 4; ++signature)
    policy.note_bailout(signature, "reason", /*is_of_call=*/false);
  CHECK(policy.is_hopeless(0));
  CHECK_FALSE(policy.is_hopeless(1));
}

TEST_CASE("a reason of one call rules its signature out only when it comes again and again", "[replay]") {
  RecordingPolicy policy(8);
  for (int call = 0; call < 7; ++call) {
    policy.note_bailout(1, "shared", /*is_of_call=*/true);
    policy.why_not(1, /*is_full=*/false, 0);
    CHECK(policy.why_not(1, /*is_full=*/false, 0) == Miss::none);
  }
  policy.note_bailout(1, "shared", /*is_of_call=*/true);
  CHECK(policy.why_not(1, /*is_full=*/false, 0) != Miss::none);
}

TEST_CASE("a full table replaces a program only for a signature that comes often", "[replay]") {
  RecordingPolicy policy(2);
  const auto calls_until_recorded = [&](std::uint64_t signature, std::uint32_t evictions) {
    int calls = 1;
    while (policy.why_not(signature, /*is_full=*/true, evictions) != Miss::none) ++calls;
    return calls;
  };
  CHECK(calls_until_recorded(1, 0) == 2);
  CHECK(calls_until_recorded(2, 1) == 4);
  CHECK(calls_until_recorded(3, 3) == 16);
  REQUIRE(policy.reasons().size() == 1);
  CHECK(policy.reasons()[0].find("Plans may take 2 bytes") == 0);
  policy.reset();
  CHECK(policy.reasons().empty());
}

TEST_CASE("while weights change often, a signature has to come back more often", "[replay]") {
  RecordingPolicy policy(8);
  policy.note_changed_weights(1, 3);
  policy.note_changed_weights(1, 3);
  policy.reset();
  int calls = 1;
  while (policy.why_not(1, /*is_full=*/false, 0) != Miss::none) ++calls;
  CHECK(calls == 8);
  policy.note_changed_weights(1, 1000);
  policy.reset();
  CHECK(policy.why_not(1, /*is_full=*/false, 0) != Miss::none);
  CHECK(policy.why_not(1, /*is_full=*/false, 0) == Miss::none);
}

}  // namespace sr::test::recording_policy_tests
