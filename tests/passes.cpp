// Preparation: what each transformation may and may not change.
#include <string>

#include <torch/script.h>

#include <sr/static_module.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace {

std::string prepared(const std::string& source) {
  return sr::StaticModule(sr::test::script(source)).graph().toString(/*print_source_locations=*/false);
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
  // An integer tensor refuses a float added in place; the functional op would return floats.
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
  sr::test::check_script(written + "    return torch.cat([z, x])\n", {{x, y}, {x, y}});
  sr::test::check_script(written + "    all = [z]\n    all.append(x)\n    return torch.cat(all)\n",
                         {{x, y}, {x, y}});
  const std::string cats =
      "def forward(self, x, y):\n    return torch.cat([torch.cat([x, y], 0), y.float()], 0)\n";
  sr::test::check_script(
      cats, {{at::full({3}, 123457, at::kLong), y.to(at::kHalf)}, {x, y}, {x, at::randn({2, 2})}});
}

TEST_CASE("weights and what is computed from them alone are constants", "[passes]") {
  torch::jit::Module module("m");
  module.register_parameter("weight", at::rand({3, 4}), false);
  module.define("def forward(self, x):\n    return torch.mm(x, torch.transpose(self.weight, 0, 1))\n");
  const std::string graph = sr::StaticModule(module).graph().toString(false);
  CHECK_FALSE(holds(graph, "aten::transpose"));
  CHECK_FALSE(holds(graph, "prim::GetAttr"));
}

TEST_CASE("the pipeline is one list of named passes", "[passes]") {
  for (const sr::passes::Pass& pass : sr::passes::pipeline()) CHECK_FALSE(pass.name.empty());
}
