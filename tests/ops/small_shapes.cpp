// Every operator that has a rule of layouts, a lowering or a fact, called with tensors of 0 to 6 dimensions
// of sizes 0, 1 and 2: what the interpreter answers, sr answers, on all paths. Rules and lowerings must not
// read a dimension that the operator's own checks allow to be missing. Under AddressSanitizer, reads beyond a
// list of sizes show.
#include <optional>
#include <string>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/drawn_operators.hpp"

namespace sr::test::small_shapes_tests {

namespace {

void check(const c10::FunctionSchema& schema, const DrawnCase& of) {
  const Answer expected = interpreted(of, schema);
  for (const Numerics numerics : {Numerics::fast, Numerics::exact}) {
    std::optional<StaticRuntime<>> runtime;
    try {
      runtime.emplace(StaticModule(of.graph->copy(), {.numerics = numerics}));
    } catch (const std::exception&) {
      if (!expected.threw) FAIL_CHECK("sr refused\n" << text_of(schema, of));
      return;
    }
    for (int call = 0; call < 3; ++call) {
      const Answer answer =
          answer_of(of, [&](std::vector<c10::IValue>& inputs) { return (*runtime)(inputs); });
      const std::string difference = difference_of(expected, answer, {.rtol = 1e-2, .atol = 1e-2});
      if (!difference.empty()) {
        FAIL_CHECK("call " << call << ", " << (numerics == Numerics::fast ? "fast" : "exact") << ": "
                           << difference << "\n"
                           << text_of(schema, of));
        return;
      }
    }
  }
}

}  // namespace

TEST_CASE("operators with tensors of any rank and of sizes 0, 1 and 2 answer as the interpreter",
          "[ops][shapes]") {
  std::size_t checked = 0, answered = 0;
  each_drawn_case(cases_for_each("SR_SMALL_SHAPES", 6),
                  [&](const c10::FunctionSchema& schema, const DrawnCase& drawn, Random&) {
                    check(schema, drawn);
                    ++checked;
                    answered += interpreted(drawn, schema).threw ? 0 : 1;
                  });
  INFO(checked << " cases, of which " << answered << " are answered");
  CHECK(checked > 1000);
  CHECK(answered * 5 > checked);
}

}  // namespace sr::test::small_shapes_tests
