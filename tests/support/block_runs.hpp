// Calls of functions whose blocks data decide about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"

namespace sr::test {

// Compares calls with the interpreter's, in turn and `rounds` times over. Returns the report.
inline Report check(const std::string& source, const std::vector<InputSet>& runs, int rounds = 4,
                    const OracleOptions& options = close(1e-5)) {
  INFO(source);
  torch::jit::Module module = script(source);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < rounds; ++round) {
    for (const InputSet& inputs : runs) {
      const c10::IValue expected = interpret(module, copy_inputs(inputs));
      InputSet given = copy_inputs(inputs);
      CHECK(difference(expected, runtime(std::move(given), {}), options) == "");
    }
  }
  return runtime.report();
}

// Does what check() does, and requires that more than `replays` calls were replayed.
inline Report check_replayed(const std::string& source, const std::vector<InputSet>& runs, int rounds,
                             std::uint64_t replays, const OracleOptions& options = close(1e-5)) {
  const Report report = check(source, runs, rounds, options);
  CAPTURE(source, report.bailouts, report.misses);
  CHECK(report.replayed_calls > replays);
  return report;
}

// The block whose name begins with `name`.
inline const BlockReport& block(const Report& report, const std::string& name) {
  for (const BlockReport& each : report.decided_blocks) {
    if (each.name.find(name) == 0) return each;
  }
  FAIL("There is no block " << name);
  return report.decided_blocks.front();
}

}  // namespace sr::test
