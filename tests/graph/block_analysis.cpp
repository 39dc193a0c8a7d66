// Aliases and lifetimes: IR text, and the expected result for each value of each block.
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/ir/irparser.h>
#include <torch/script.h>

#include <sr/module/state_changes.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>

#include "support/catch.hpp"

namespace sr::test::analysis_tests {

namespace {

struct Expected {
  const char* name;
  std::optional<std::pair<unsigned, unsigned>> managed;  // half-open lifetime
  const char* why_not = "";                              // else, a part of the reason
};

// Prepares the IR without passes, which number values anew: "%a.1" is looked up as "a".
std::map<std::string, sr::ValueReport> values_of(const std::string& ir) {
  auto graph = std::make_shared<torch::jit::Graph>();
  std::unordered_map<std::string, torch::jit::Value*> parsed;
  torch::jit::parseIR(ir, graph.get(), parsed);
  for (const auto& [name, value] : parsed) value->setDebugName(name);  // the parser drops them
  const sr::StaticModule module(graph);
  std::map<std::string, sr::ValueReport> values;
  for (const sr::NodeReport& node : sr::make_report(*module.content(), "none", {}).nodes) {
    for (const sr::ValueReport& value : node.outputs)
      values[value.name.substr(0, value.name.find('.'))] = value;
  }
  return values;
}

std::string names_of(const std::map<std::string, sr::ValueReport>& values) {
  std::string names;
  for (const auto& [name, value] : values) names += " " + name;
  return names;
}

void check(const std::string& ir, const std::vector<Expected>& expectations) {
  const auto values = values_of(ir);
  for (const Expected& expected : expectations) {
    INFO("%" << expected.name << " in " << names_of(values));
    REQUIRE(values.count(expected.name) == 1);
    const sr::ValueReport& value = values.at(expected.name);
    CHECK(value.managed == expected.managed.has_value());
    if (expected.managed) {
      CHECK(value.first == expected.managed->first);
      CHECK(value.end == expected.managed->second);
    } else {
      CHECK(value.why_not.find(expected.why_not) != std::string::npos);
    }
  }
}

std::shared_ptr<torch::jit::Graph> parsed(const std::string& ir) {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(ir, graph.get());
  return graph;
}

// A fork of `body` on the body's first argument is its first node.
void fork_first(torch::jit::Graph& graph, const std::shared_ptr<torch::jit::Graph>& body) {
  torch::jit::Node* fork = graph.create(c10::prim::fork, {graph.inputs()[0]});
  fork->g_(c10::attr::Subgraph, body);
  graph.prependNode(fork);
}

}  // namespace

TEST_CASE("a value lives from its node to its last reader", "[analysis]") {
  check(R"IR(
graph(%x : Tensor):
  %a.1 : Tensor = aten::relu(%x)
  %b.1 : Tensor = aten::tanh(%a.1)
  %c.1 : Tensor = aten::mul(%b.1, %a.1)
  %d.1 : Tensor = aten::sigmoid(%c.1)
  return (%d.1))IR",
        {{"a", {{0, 3}}}, {"b", {{1, 3}}}, {"c", {{2, 4}}}, {"d", {}, "returned to the caller"}});
}

TEST_CASE("a view extends the lifetime of its base", "[analysis]") {
  check(R"IR(
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %a.1 : Tensor = aten::relu(%x)
  %v.1 : Tensor = aten::transpose(%a.1, %zero, %one)
  %b.1 : Tensor = aten::tanh(%x)
  %c.1 : Tensor = aten::mm(%v.1, %b.1)
  %d.1 : Tensor = aten::sigmoid(%c.1)
  return (%d.1))IR",
        {{"a", {{0, 4}}}, {"b", {{2, 4}}}, {"c", {{3, 5}}}});
}

TEST_CASE("a returned view keeps its source out of the arena", "[analysis]") {
  check(R"IR(
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %a.1 : Tensor = aten::relu(%x)
  %v.1 : Tensor = aten::transpose(%a.1, %zero, %one)
  return (%v.1))IR",
        {{"a", {}, "returned to the caller"}});
}

TEST_CASE("a read inside a branch counts at the node that owns it", "[analysis]") {
  check(R"IR(
graph(%x : Tensor, %flag : bool):
  %a.1 : Tensor = aten::relu(%x)
  %b.1 : Tensor = aten::tanh(%x)
  %c.1 : Tensor = prim::If(%flag)
    block0():
      %d.1 : Tensor = aten::mul(%a.1, %b.1)
      %e.1 : Tensor = aten::exp(%d.1)
      -> (%e.1)
    block1():
      -> (%b.1)
  %f.1 : Tensor = aten::sigmoid(%c.1)
  %g.1 : Tensor = aten::exp(%f.1)
  return (%g.1))IR",
        {{"a", {{0, 3}}},
         {"b", {{1, 4}}},  // the branch may return it
         {"d", {{0, 2}}},
         {"e", {}, "handed out of a sub-block"},
         {"f", {{3, 5}}}});
}

TEST_CASE("a loop-carried value lives as long as the loop's result", "[analysis]") {
  check(R"IR(
graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %a.1 : Tensor = aten::relu(%x)
  %r.1 : Tensor = prim::Loop(%n, %true, %a.1)
    block0(%i : int, %carried.1 : Tensor):
      %b.1 : Tensor = aten::tanh(%carried.1)
      %c.1 : Tensor = aten::exp(%b.1)
      -> (%true, %c.1)
  %d.1 : Tensor = aten::tanh(%x)
  %e.1 : Tensor = aten::mul(%r.1, %d.1)
  %f.1 : Tensor = aten::exp(%e.1)
  return (%f.1))IR",
        {{"a", {{0, 4}}}, {"b", {{0, 2}}}, {"c", {}, "handed out of a sub-block"}, {"d", {{2, 4}}}});
}

TEST_CASE("elements of a list that is changed escape, others do not", "[analysis]") {
  check(R"IR(
graph(%x : Tensor, %others : Tensor[]):
  %zero : int = prim::Constant[value=0]()
  %a.1 : Tensor = aten::relu(%x)
  %b.1 : Tensor = aten::tanh(%x)
  %l : Tensor[] = aten::append(%others, %a.1)
  %p : Tensor[] = prim::ListConstruct(%b.1, %b.1)
  %c.1 : Tensor = aten::__getitem__(%p, %zero)
  %d.1 : Tensor = aten::exp(%c.1)
  %e.1 : Tensor = aten::exp(%d.1)
  return (%e.1))IR",
        {{"a", {}, "container"}, {"b", {{1, 6}}}, {"d", {{5, 7}}}});
}

TEST_CASE("a composite op without alias annotation may return its input", "[analysis]") {
  check(R"IR(
graph(%x : Tensor, %y : Tensor):
  %a.1 : Tensor = aten::relu(%x)
  %t.1 : Tensor = aten::type_as(%a.1, %y)
  %b.1 : Tensor = aten::exp(%t.1)
  %c.1 : Tensor = aten::exp(%b.1)
  return (%c.1))IR",
        {{"a", {{0, 3}}}});
}

TEST_CASE("two runs of the analysis give the same plan", "[analysis]") {
  const std::string ir = R"IR(
graph(%x : Tensor):
  %a.1 : Tensor = aten::relu(%x)
  %b.1 : Tensor = aten::tanh(%a.1)
  %c.1 : Tensor = aten::mul(%b.1, %a.1)
  %d.1 : Tensor = aten::sigmoid(%c.1)
  return (%d.1))IR";
  const auto first = values_of(ir);
  const auto second = values_of(ir);
  REQUIRE(first.size() == second.size());
  for (const auto& [name, value] : first) {
    CHECK(second.at(name).first == value.first);
    CHECK(second.at(name).end == value.end);
  }
}

TEST_CASE("a forked body that writes its inputs changes state, also after a nested fork", "[analysis]") {
  const auto reads = parsed("graph(%y : Tensor):\n  %z : Tensor = aten::relu(%y)\n  return (%z)");
  const auto writes = parsed("graph(%y : Tensor):\n  %z : Tensor = aten::relu_(%y)\n  return (%z)");
  const auto outer = parsed("graph(%x : Tensor):\n  return (%x)");
  fork_first(*outer, writes);
  CHECK(sr::StateChanges(*outer).changed_by() == "aten::relu_");
  fork_first(*writes, reads);
  CHECK(sr::StateChanges(*outer).changed_by() == "aten::relu_");
}

}  // namespace sr::test::analysis_tests
