// The team of threads: each part of a job is done once, whoever calls; and the choice whether to share.
#define SR_HEADER_ONLY
#include "support/team.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <sr/base/impl/team.hpp>
#include <sr/base/team.hpp>
#include <sr/replay/steps/sharing_choice.hpp>

#include "support/catch.hpp"

using sr::Team;
using sr::test::are_done_once;
using sr::test::counts_of;

TEST_CASE("a team does each part of a job once", "[team]") {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
    for (const int width : {1, 2, 3, 9}) {
      for (const bool more_follows : {false, true}) {
        CAPTURE(count, width, more_follows);
        CHECK(are_done_once(counts_of(count, width, more_follows)));
      }
    }
  }
  CHECK(Team::of_process().helpers() >= 8);
  CHECK(Team::of_process().helpers() <= 8);  // no more than one call asked for
}

TEST_CASE("helpers take part", "[team]") {
  // The parts of the caller wait until a helper has come.
  std::atomic<bool> came = false;
  const std::thread::id caller = std::this_thread::get_id();
  Team::of_process().each(8, 2, false, [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() != caller) came = true;
    while (!came) std::this_thread::yield();
  });
  CHECK(came);
}

TEST_CASE("any number of threads share a team", "[team]") {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 80; ++caller) {  // more than there are slots
    callers.emplace_back([&, caller] {
      for (int call = 0; call < 100; ++call)
        wrong += are_done_once(counts_of(caller % 13, 4, call % 2 == 0)) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("a part of a job may be a job", "[team]") {
  std::atomic<std::int64_t> sum = 0;
  Team& team = Team::of_process();
  team.each(20, 3, false, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      team.each(30, 3, false, [&](std::int64_t from, std::int64_t to) { sum += (to - from) * i; });
    }
  });
  CHECK(sum == 30 * 190);
}

TEST_CASE("a step is shared where that takes less time", "[team]") {
  using sr::replay::SharingChoice;
  const auto share_of_runs = [](SharingChoice& choice, int runs, double alone, double shared) {
    int count = 0;
    for (int i = 0; i < runs; ++i) {
      const bool shares = choice.shares();
      count += shares ? 1 : 0;
      choice.note(shares, shares ? shared : alone);
    }
    return static_cast<double>(count) / runs;
  };
  SharingChoice choice;
  CHECK(share_of_runs(choice, 1000, 100, 55) > 0.97);
  CHECK(share_of_runs(choice, 1000, 100, 300) < 0.1);  // another process has come
  CHECK(share_of_runs(choice, 4000, 100, 300) < 0.01);
  CHECK(share_of_runs(choice, 2000, 100, 55) > 0.4);  // and gone
  CHECK(share_of_runs(choice, 4000, 100, 55) > 0.99);
  // A single run that was interrupted changes nothing.
  choice.note(false, 5000);
  choice.note(true, 80);
  CHECK(share_of_runs(choice, 100, 100, 55) > 0.9);
  SharingChoice equal;
  CHECK(share_of_runs(equal, 1000, 100, 99) < 0.1);  // not worth it
}
