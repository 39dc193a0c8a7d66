// The team of threads in a process with LibTorch: modes of the processor, children of fork(), and steps of a
// replay.
#include "support/team.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <sr/base/team.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::executor_team_tests {

TEST_CASE("helpers round and flush denormal numbers as their caller does", "[executor][team]") {
  volatile float small = 1e-39f;
  for (const bool flushes : {true, false}) {
    if (!at::globalContext().setFlushDenormal(flushes)) return;  // this processor cannot
    std::atomic<int> zeros = 0, others = 0;
    std::atomic<bool> came = false;
    const std::thread::id caller = std::this_thread::get_id();
    Team::of_process().each(8, 2, false, [&](std::int64_t, std::int64_t) {
      volatile float half = small * 0.5f;
      (half == 0 ? zeros : others) += 1;
      if (std::this_thread::get_id() != caller) came = true;
      while (!came) std::this_thread::yield();
    });
    CHECK((flushes ? others : zeros) == 0);
  }
}

TEST_CASE("a child of fork has its own team", "[executor][team]") {
  counts_of(100, 3);
  CHECK(succeeds_in_child([] {
    const bool starts_anew = Team::of_process().helpers() == 0;
    const bool works = are_done_once(counts_of(100, 3)) && are_done_once(counts_of(1000, 2));
    return starts_anew && works && Team::of_process().helpers() == 2;
  }));
  CHECK(are_done_once(counts_of(100, 3)));
}

TEST_CASE("all threads of a child of fork may begin at once", "[executor][team]") {
  at::set_num_threads(at::get_num_threads());  // makes threads of LibTorch, which the child does not have
  for (int i = 0; i < 10; ++i) {
    CHECK(succeeds_in_child([] {
      std::atomic<int> threads_left = 16, wrong = 0;
      std::vector<std::thread> threads;
      for (int thread = threads_left; thread > 0; --thread) {
        threads.emplace_back([&] {
          for (--threads_left; threads_left != 0;) std::this_thread::yield();
          try {
            const IntraOpWidth width(2);
            wrong += at::get_num_threads() == 2 ? 0 : 1;
          } catch (const std::exception&) {
            ++wrong;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      return wrong == 0;
    }));
  }
}

}  // namespace sr::test::executor_team_tests
