// What runtimes tell the caller's handler, and what errors carry besides their message.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::events_tests {
namespace {

using Kind = Event::Kind;

struct Told {
  std::vector<Event> events;

  std::size_t count(Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.kind == kind; }));
  }
  const std::string& last() const { return events.at(events.size() - 1).message; }
};

StaticModuleOptions telling(Told& told) {
  StaticModuleOptions options;
  options.on_event = [&told](const Event& event) { told.events.push_back(event); };
  return options;
}

template <class Thrown, class Act>
Thrown caught(const Act& act) {
  try {
    act();
  } catch (const Thrown& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace

TEST_CASE("a recorded plan is told once", "[runtime][events]") {
  Told told;
  StaticRuntime<> runtime{StaticModule(script(kSmall), telling(told))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int call = 0; call < 5; ++call) runtime(x, y);
  REQUIRE(told.events.size() == 1);
  CHECK(told.events[0].kind == Kind::recorded);
  CHECK(told.last().find("A plan was recorded for Float[4, 3]") == 0);
}

TEST_CASE("a call that cannot be replayed is told with the reason", "[runtime][events]") {
  Told told;
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return x.to_sparse() * 2\n"), telling(told))};
  for (int call = 0; call < 4; ++call) runtime(sample({4, 3}));
  REQUIRE(told.count(Kind::bailed_out) == 1);
  CHECK(told.last().find("are not replayed. " + runtime.report().bailouts.at(0)) != std::string::npos);
}

TEST_CASE("a plan that data contradict is told", "[runtime][events]") {
  Told told;
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n"
                                              "    if bool(x.sum() > 0):\n"
                                              "        return x + 1\n"
                                              "    return x - 1\n"),
                                       telling(told))};
  for (const double value : {1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0}) {
    const at::Tensor x = at::full({3}, value);
    CHECK(runtime(x).toTensor().equal(x + value));
  }
  const bool gave_up = !runtime.report().bailouts.empty();
  CHECK((told.count(Kind::deoptimized) != 0) == gave_up);
  CHECK(told.count(Kind::recorded) >= 1);
}

TEST_CASE("a changed weight is told with what it costs", "[runtime][events]") {
  Told told;
  const at::Tensor weight = sample({3});
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, x):\n    return x * (self.w + 1)\n", {{"w", weight}}), telling(told))};
  const at::Tensor x = sample({4, 3});
  for (int call = 0; call < 3; ++call) runtime(x);
  CHECK(told.count(Kind::weights_changed) == 0);
  weight.add_(1);
  CHECK(runtime(x).toTensor().equal(x * (weight + 1)));
  REQUIRE(told.count(Kind::weights_changed) == 1);
  CHECK(told.events[1].message.find("were dropped: 1, replayed ") != std::string::npos);
}

TEST_CASE("a handler that throws does not end the call", "[runtime][events]") {
  StaticModuleOptions options;
  options.on_event = [](const Event&) { throw std::runtime_error("from the handler"); };
  StaticRuntime<> runtime{StaticModule(script(kSmall), options)};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int call = 0; call < 3; ++call) CHECK(runtime(x, y).toTensor().equal(small(x, y)));
  CHECK(plans(runtime) == 1);
}

TEST_CASE("an error has a code, and names the argument or the operators", "[runtime][events]") {
  const StaticModule module(script("def forward(self, x, by: float = 2.0):\n    return x * by\n"));
  const at::Tensor x = sample({2});
  const auto wrong = [&](std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) {
    const auto error = caught<ArgumentError>([&] { module(std::move(args), kwargs); });
    CHECK(error.code() == ErrorCode::argument);
    return error.argument();
  };
  CHECK(wrong({x, "two"}) == "by");
  CHECK(wrong({}) == "x");
  CHECK(wrong({x}, {{"z", 1}}) == "z");
  CHECK(wrong({x, 1.0}, {{"by", 1.0}}) == "by");
  CHECK(wrong({x, 1.0, 2}).empty());
  CHECK(caught<LoadError>([] { load("/no/such/file.pt"); }).code() == ErrorCode::load);
  StaticModuleOptions strict;
  strict.strict = true;
  const auto sparse = script("def forward(self, x):\n    return x.to_sparse()\n");
  const auto refused = caught<UnsupportedOpError>([&] { StaticModule(sparse, strict); });
  CHECK(refused.code() == ErrorCode::unsupported_op);
  CHECK(refused.operators() == std::vector<std::string>{"aten::to_sparse"});
}

TEST_CASE("options nest, and each field that Python has is visited once", "[runtime][events]") {
  StaticModuleOptions options;
  std::vector<std::string> names;
  visit_options(options, [&](const char* name, const auto&) { names.emplace_back(name); });
  CHECK(names.size() == 14);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  const StaticModuleOptions same{.numerics = Numerics::exact, .memory = {.optimize = false}};
  options.numerics = Numerics::exact;
  CHECK_FALSE(options == same);
  options.memory.optimize = false;
  CHECK(options == same);
}

}  // namespace sr::test::events_tests
