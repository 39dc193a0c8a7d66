// Calls whose sizes vary, compared with the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"

namespace sr::test {

using MakeInputs = std::function<InputSet(std::int64_t)>;

// A model and its runtime. Each call is made by both the interpreter and the runtime, and their results are
// compared.
class Compared {
 public:
  explicit Compared(const std::string& source, const Attributes& attributes = {},
                    const StaticModuleOptions& options = {})
      : reference_(script(source, attributes)), runtime_(StaticModule(script(source, attributes), options)) {}

  void call(const InputSet& inputs, const OracleOptions& how = close()) {
    std::string message, expected_message;
    c10::IValue expected, actual;
    try {
      expected = interpret(reference_, copy_inputs(inputs));
    } catch (const std::exception&) {
      expected_message = "throws";
    }
    try {
      actual = runtime_(copy_inputs(inputs), {});
    } catch (const std::exception&) {
      message = "throws";
    }
    CHECK(message == expected_message);
    if (message.empty() && expected_message.empty()) CHECK(difference(expected, actual, how) == "");
  }

  std::size_t plan_count() const { return plans(runtime_); }
  std::uint64_t replayed() const { return runtime_.replayed_calls(); }
  StaticRuntime<>& runtime() { return runtime_; }

 private:
  torch::jit::Module reference_;
  StaticRuntime<> runtime_;
};

inline const std::vector<std::int64_t> kSizes{5, 7,   7,  3, 2, 64, 65, 33, 1023, 1024, 1025,
                                              4, 200, 12, 1, 0, 1,  0,  1,  0,    9,    5};

// Checks that one plan serves calls of all these sizes, except 0 and 1, which have separate plans.
// `most_plans` is the largest number of plans altogether.
inline void check_family(const std::string& source, const MakeInputs& inputs,
                         const Attributes& attributes = {}, std::size_t most_plans = 4,
                         const std::vector<std::int64_t>& sizes = kSizes) {
  for (const bool exact : {false, true}) {
    CAPTURE(source, exact);
    StaticModuleOptions options;
    options.numerics = exact ? Numerics::exact : Numerics::fast;
    options.debug.check_every = 3;
    Compared model(source, attributes, options);
    for (const std::int64_t size : sizes) {
      CAPTURE(size);
      model.call(inputs(size), exact ? OracleOptions{} : close());
    }
    CHECK(model.plan_count() <= most_plans);
    if (most_plans <= 4) CHECK(model.replayed() + 9 >= sizes.size());
  }
}

inline at::Tensor weight(at::IntArrayRef sizes) {
  return at::randn(sizes) * 0.3;
}

}  // namespace sr::test
