// Tests the traces of calls that go through a batcher.
#include <algorithm>
#include <chrono>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/sr.hpp>

#include "held_requests.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::batcher_tests {

TEST_CASE("a call fills its trace", "[batcher]") {
  const StaticModule module = perceptron();
  const RuntimePool<> pool(module);
  const at::Tensor x = at::randn({3, 20});
  std::vector<CallTrace::Path> paths;
  for (int call = 0; call < 4; ++call) {
    CallTrace trace;
    trace.with_steps = true;
    CallOptions options;
    options.trace = &trace;
    const at::Tensor result = pool({x}, {}, options).toTensor();
    CHECK(result.equal(pool(x).toTensor()));
    CHECK(trace.arrived <= trace.began);
    CHECK(trace.began < trace.ended);
    REQUIRE(!trace.steps.empty());
    for (const CallTrace::Step& step : trace.steps) {
      CAPTURE(step.name);
      CHECK(trace.began <= step.begin);
      CHECK(step.end <= trace.ended);
      CHECK(step.name.starts_with("sr: ") == (trace.path == CallTrace::Path::replay));
    }
    paths.push_back(trace.path);
  }
  CHECK(std::ranges::count(paths, CallTrace::Path::replay) >= 1);
  CHECK(paths.front() != CallTrace::Path::replay);
  CHECK(paths.back() == CallTrace::Path::replay);

  CallTrace trace;  // without steps, asynchronously, and of a call that throws
  CallOptions options;
  options.trace = &trace;
  pool.run_async({x}, {}, options)->waitAndThrow();
  CHECK(trace.path == CallTrace::Path::replay);
  CHECK(trace.steps.empty());
  CallTrace failed;
  options.trace = &failed;
  CHECK_THROWS(pool({at::randn({3, 19})}, {}, options));
  CHECK(failed.began < failed.ended);
  CHECK(failed.path == CallTrace::Path::general);
}

TEST_CASE("requests of a batch have its trace", "[batcher]") {
  const StaticModule module = perceptron();
  BatcherOptions chosen;
  chosen.max_wait = std::chrono::milliseconds(100);
  chosen.max_running = 1;
  const Batcher batcher(module, chosen);
  std::vector<CallTrace> traces(4);
  traces[0].with_steps = true;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
  for (std::size_t i = 0; i < 5; ++i) {
    CallOptions options;
    if (i < traces.size()) options.trace = &traces[i];
    futures.push_back(batcher.submit({at::randn({2, 20})}, {}, options));
  }
  for (const auto& future : futures) future->waitAndThrow();
  for (const CallTrace& trace : traces) {
    CHECK(trace.requests == 5);
    CHECK(trace.rows == 10);
    CHECK(trace.arrived < trace.began);
    CHECK(trace.began == traces[0].began);
    CHECK(trace.began < trace.ended);
    CHECK(trace.steps.empty() == !trace.with_steps);
  }
}

}  // namespace sr::test::batcher_tests
