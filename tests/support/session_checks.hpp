// Compares calls and the state of a module with the interpreter.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/session_oracle.hpp"

namespace sr::test {

// Returns the variables of a module's own state by name.
inline std::map<std::string, c10::IValue> variables_of(const StaticModule& module) {
  std::map<std::string, c10::IValue> all;
  if (module.session_state() == nullptr) return all;
  const std::vector<StateVariable>& variables = module.content()->variables;
  for (std::size_t i = 0; i < variables.size(); ++i)
    all.emplace(variables[i].source.name(), module.session_state()->values().variables()[i]);
  return all;
}

// Makes the calls in order, `options.rounds` times, and compares results and state after each call.
inline void check_session(const torch::jit::Module& model, const std::vector<InputSet>& calls,
                          const StaticModuleOptions& module_options = {}, const OracleOptions& options = {}) {
  SessionOracle oracle(model);
  const StaticModule module(model, module_options);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      INFO("round " << round << ", call " << call);
      const std::optional<c10::IValue> expected = oracle(calls[call]);
      if (expected) {
        const c10::IValue result = module(copy_inputs(calls[call]));
        CHECK(compare_values(*expected, result, options, "result") == "");
      } else {
        CHECK_THROWS(module(copy_inputs(calls[call])));
      }
      CHECK(compare_state(oracle, variables_of(module), options) == "");
    }
  }
}

}  // namespace sr::test
