// Preparation: what each pass may and may not change.
#include <set>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/frontend/loaded_graph.hpp>
#include <sr/passes/pass.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::passes_tests {

namespace {

std::string prepared(const std::string& source, const sr::StaticModuleOptions& options = {}) {
  return sr::StaticModule(sr::test::script(source), options)
      .graph()
      .toString(
          /*print_source_locations=*/false);
}

// Without the changes that freezing makes to modules before our passes run.
std::string prepared_ir(const std::string& ir, const sr::StaticModuleOptions& options = {}) {
  return sr::StaticModule(sr::test::graph(ir), options).graph().toString(/*print_source_locations=*/false);
}

std::size_t count(const std::string& graph, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = graph.find(text); at != std::string::npos; at = graph.find(text, at + 1)) ++found;
  return found;
}

sr::StaticModuleOptions without(const std::string& pass) {
  sr::StaticModuleOptions options;
  options.debug.without_passes = {pass};
  return options;
}

bool holds(const std::string& graph, const std::string& text) {
  return graph.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("an in-place activation of a temporary becomes functional", "[passes]") {
  const std::string source = "def forward(self, x):\n    y = x + 1\n    y.relu_()\n    return y * 2\n";
  CHECK(holds(prepared(source), "aten::relu("));
  CHECK_FALSE(holds(prepared(source), "aten::relu_"));
  sr::test::check_script(source, {{at::randn({3, 4})}, {at::randn({5, 2})}});
}

TEST_CASE("an in-place op that could promote or broadcast stays in place", "[passes]") {
  const std::string source = "def forward(self, x, y):\n    z = x * 1\n    z.add_(y)\n    return z * 2\n";
  CHECK(holds(prepared(source), "aten::add_("));
  // An in-place addition of a float to an integer tensor throws; the functional operator would return floats.
  sr::test::check_script(source, {{at::ones({3}, at::kLong), at::ones({3}, at::kLong)},
                                  {at::ones({3}, at::kLong), at::rand({3})},
                                  {at::rand({3}), at::rand({3})}});
}

TEST_CASE("a list built by append becomes one construction", "[passes]") {
  const std::string source =
      "def forward(self, x):\n    l = [x]\n    l.append(x + 1)\n    l.append(x * 2)\n    return torch.cat(l, "
      "0)\n";
  CHECK_FALSE(holds(prepared(source), "aten::append"));
  sr::test::check_script(source, {{at::randn({3, 4})}, {at::randn({1, 2})}});
}

TEST_CASE("cat and stack take their inputs without a list", "[passes]") {
  const std::string graph =
      prepared("def forward(self, x, y):\n    return torch.cat([x, y], 1), torch.stack([x, y])\n");
  CHECK(holds(graph, "prim::VarConcat"));
  CHECK(holds(graph, "prim::VarStack"));
}

TEST_CASE("a cat read by a cat stays a cat", "[passes]") {
  const at::Tensor x = at::randn({3}), y = at::randn({3});
  const std::string written = "def forward(self, x, y):\n    z = torch.cat([y, y])\n    y.tanh_()\n";
  sr::test::OracleOptions rounded;
  rounded.rtol = rounded.atol = 1e-6;
  sr::test::check_script(written + "    return torch.cat([z, x])\n", {{x, y}, {x, y}}, rounded);
  sr::test::check_script(written + "    all = [z]\n    all.append(x)\n    return torch.cat(all)\n",
                         {{x, y}, {x, y}}, rounded);
  const std::string cats =
      "def forward(self, x, y):\n    return torch.cat([torch.cat([x, y], 0), y.float()], 0)\n";
  sr::test::check_script(
      cats, {{at::full({3}, 123457, at::kLong), y.to(at::kHalf)}, {x, y}, {x, at::randn({2, 2})}});
}

TEST_CASE("frozen weights and what is computed from them alone are constants", "[passes]") {
  torch::jit::Module module("m");
  module.register_parameter("weight", at::rand({3, 4}), false);
  module.define("def forward(self, x):\n    return torch.mm(x, torch.transpose(self.weight, 0, 1))\n");
  const std::string frozen = sr::StaticModule(module, {.weights = {.freeze = true}}).graph().toString(false);
  CHECK_FALSE(holds(frozen, "aten::transpose"));
  CHECK_FALSE(holds(frozen, "prim::GetAttr"));
  const std::string followed = sr::StaticModule(module).graph().toString(false);
  CHECK(holds(followed, "aten::transpose"));
  CHECK_FALSE(holds(followed, "prim::GetAttr"));
}

TEST_CASE("a slice of everything goes where the next index refuses the same tensors", "[passes]") {
  const std::string ir = R"IR(
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %all : int = prim::Constant[value=9223372036854775807]()
  %rows : Tensor = aten::slice(%x, %zero, %zero, %all, %one)
  %columns : Tensor = aten::slice(%rows, %one, %one, %all, %one)
  %y : Tensor = aten::relu(%columns)
  return (%y))IR";
  CHECK(count(prepared_ir(ir), "aten::slice") == 1);
  CHECK(count(prepared_ir(ir, without("no_op_slices")), "aten::slice") == 2);
  const std::string source = "def forward(self, x):\n    return x[:, 1:].relu()\n";
  CHECK(count(prepared(source), "aten::slice") == 1);
  sr::test::check_script(source, {{at::randn({3, 4})},
                                  {at::randn({2, 2, 2})},
                                  {at::randn({3})},
                                  {at::scalar_tensor(1)},
                                  {at::randn({0, 2})}});
}

TEST_CASE("a slice of everything stays where it could be told from its input, or throws alone", "[passes]") {
  const std::vector<sr::test::InputSet> runs{{at::randn({3, 4})}, {at::scalar_tensor(1)}, {at::randn({0})}};
  for (const std::string body : {"return x[:]", "return (x[:] + 1)", "return x[:].t()", "return x[:, 1]",
                                 "return x[:, :][0]", "y = x[:]\n    y.t_()\n    return x + 1"}) {
    const std::string source = "def forward(self, x):\n    " + body + "\n";
    CHECK(count(prepared(source), "aten::slice") == 1);
    sr::test::check_script(source, runs);
  }
}

TEST_CASE("common subexpressions are merged unless the caller gets both or one is written", "[passes]") {
  const auto ir = [](const std::string& last) {
    return R"IR(
graph(%x : Tensor, %w : Tensor):
  %a : Tensor = aten::mm(%x, %w)
  %b : Tensor = aten::mm(%x, %w)
)IR" + last;
  };
  const std::string joined = "  %y : Tensor = aten::mul(%a, %b)\n  return (%y)\n";
  CHECK(count(prepared_ir(ir(joined)), "aten::mm") == 1);
  CHECK(count(prepared_ir(ir(joined), without("common_subexpressions")), "aten::mm") == 2);
  CHECK(count(prepared_ir(ir("  return (%a, %b)\n")), "aten::mm") == 2);
  CHECK(count(prepared_ir(ir("  %c : Tensor = aten::sigmoid_(%a)\n" + joined)), "aten::mm") == 2);
  const std::string source =
      "def forward(self, x, w):\n    a = torch.mm(x, w)\n    b = torch.mm(x, w)\n"
      "    c = torch.rand_like(a) - torch.rand_like(a)\n    return a * b, a.t(), c.abs().sum() > 0\n";
  CHECK(count(prepared(source), "aten::rand_like") == 2);
  sr::test::check_script(source,
                         {{at::randn({3, 4}), at::randn({4, 2})}, {at::randn({3, 4}), at::randn({3})}});
}

TEST_CASE("joined tensors that are equal and both returned stay two", "[passes]") {
  const std::string source =
      "def forward(self, x):\n    parts = [x, x]\n    a = torch.stack(parts)\n    b = torch.stack(parts)\n"
      "    c = torch.cat(parts)\n    d = torch.cat(parts)\n    return a, b, c, d, torch.stack(parts) + 1\n";
  sr::StaticRuntime<> runtime{sr::StaticModule(sr::test::script(source))};
  for (int call = 0; call < 3; ++call) {
    const auto results = runtime(at::randn({3})).toTuple()->elements();
    CHECK_FALSE(results[0].toTensor().is_alias_of(results[1].toTensor()));
    CHECK_FALSE(results[2].toTensor().is_alias_of(results[3].toTensor()));
  }
}

TEST_CASE("a branch that only chooses becomes one node", "[passes]") {
  const std::string source =
      "def forward(self, x, y, flag: bool):\n    z = x * 2\n    if flag:\n        z = y\n    return z + 1\n";
  CHECK(holds(prepared(source), "prim::IfThenElse"));
  CHECK_FALSE(holds(prepared(source), "prim::If("));
  CHECK(holds(prepared(source, without("if_then_else")), "prim::If("));
  const at::Tensor x = at::randn({3}), y = at::randn({2, 3});
  sr::test::check_script(source, {{x, y, true}, {x, y, false}, {x, y, true}});
  sr::test::check_script(
      "def forward(self, x, y):\n    z = x\n    if bool(x.sum() > 0):\n        z = y\n    return z, z * 2\n",
      {{at::ones({3}), y}, {-at::ones({3}), y}, {at::ones({3}), y}});
}

TEST_CASE("the pipeline is one list of passes, each with its own name and what it does", "[passes]") {
  std::set<std::string_view> names;
  for (const sr::passes::Pass& pass : sr::passes::pipeline()) {
    CHECK(names.insert(pass.name).second);
    CHECK_FALSE(pass.what.empty());
  }
}

TEST_CASE("every pass can be left out, and the results stay the same", "[passes]") {
  const std::string source =
      "def forward(self, x, flag: bool):\n    y = (x + 1).relu_()\n    l = [y[:, 1], y[:, 1]]\n    "
      "l.append(y[0])\n"
      "    if flag:\n        y = x\n    return torch.cat(l, 0) * 2, y.sum()\n";
  torch::jit::Module module = sr::test::script(source);
  for (const sr::passes::Pass& pass : sr::passes::pipeline()) {
    CAPTURE(std::string(pass.name));
    const sr::StaticModule prepared(module, without(std::string(pass.name)));
    for (const bool flag : {true, false, true}) {
      const sr::test::InputSet inputs{at::randn({3, 3}), flag};
      CHECK(sr::test::difference(sr::test::interpret(module, inputs), prepared(inputs)) == "");
    }
  }
}

TEST_CASE("leaving out an unknown pass throws with its name", "[passes]") {
  try {
    prepared("def forward(self, x):\n    return x + 1\n", without("fuse_everything"));
    FAIL("accepted");
  } catch (const sr::ArgumentError& error) {
    CHECK(holds(error.what(), "'fuse_everything'"));
    CHECK(holds(error.what(), "dead_code"));
  }
}

TEST_CASE("a watcher sees each pass with the graph before and after", "[passes]") {
  std::vector<std::string> seen;
  bool removed = false;
  const auto watch = [&](const sr::passes::Pass& pass, const torch::jit::Graph& before,
                         const torch::jit::Graph& after) {
    seen.emplace_back(pass.name);
    if (pass.name == "no_op_slices")
      removed = count(before.toString(), "aten::slice") == 2 && count(after.toString(), "aten::slice") == 1;
  };
  const sr::LoadedGraph loaded =
      sr::load_graph(sr::test::script("def forward(self, x):\n    return x[:, 1:]\n"), "forward",
                     {.off = {"constant_pooling"}, .watch = watch});
  CHECK(seen.size() == sr::passes::pipeline().size() - 1);
  CHECK(removed);
}

}  // namespace sr::test::passes_tests
