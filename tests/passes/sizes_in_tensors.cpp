// Integers that tracing computes with 0-dim tensors.
#include <string>
#include <vector>

#include <ATen/Functions.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::sizes_in_tensors_tests {

namespace {

// %rows and %columns are sizes of %x in tensors; %n is what aten::Int reads of the tensor %t.
torch::jit::Module traced(const std::string& body, const std::string& result = "%y") {
  return module_of(R"IR(
graph(%self, %x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %minus : int = prim::Constant[value=-1]()
  %half : float = prim::Constant[value=0.5]()
  %number : int = prim::Constant[value=4]()
  %four : Tensor = prim::NumToTensor(%number)
  %size0 : int = aten::size(%x, %zero)
  %rows : Tensor = prim::NumToTensor(%size0)
  %size1 : int = aten::size(%x, %one)
  %columns : Tensor = prim::NumToTensor(%size1)
)IR" + body + R"IR(
  %n : int = aten::Int(%t)
  %sizes : int[] = prim::ListConstruct(%n, %minus)
  %y : Tensor = aten::reshape(%x, %sizes)
  %all : (Tensor, Tensor) = prim::TupleConstruct(%y, %t)
  return ()IR" + result +
                   ")");
}

bool reads_tensors(const torch::jit::Module& module) {
  const std::string graph = StaticModule(module).graph().toString(/*print_source_locations=*/false);
  return graph.find("aten::Int(") != std::string::npos;
}

std::vector<InputSet> calls() {
  std::vector<InputSet> inputs;
  for (const std::int64_t rows : {4, 8, 12, 4, 16, 20, 8, 4}) {
    for (const std::int64_t columns : {4, 8}) inputs.push_back({at::randn({rows, columns})});
  }
  return inputs;
}

}  // namespace

TEST_CASE("sizes that a trace computes with tensors are integers", "[passes]") {
  for (const std::string body :
       {"  %t : Tensor = aten::mul(%rows, %columns)", "  %t : Tensor = aten::mul(%rows, %four)",
        "  %t : Tensor = aten::mul(%four, %two)", "  %t : Tensor = aten::floor_divide(%rows, %four)",
        "  %t : Tensor = aten::floor_divide(%rows, %two)",
        "  %a : Tensor = aten::add(%rows, %rows, %one)\n  %t : Tensor = aten::sub(%a, %rows, %one)",
        "  %a : Tensor = aten::mul(%rows, %columns)\n  %t : Tensor = aten::floor_divide(%a, %four)"}) {
    CAPTURE(body);
    const torch::jit::Module module = traced(body);
    CHECK_FALSE(reads_tensors(module));
    check_model(module, calls(), close());
    // A plan for all sizes, and perhaps one for those of the first call.
    StaticRuntime<> runtime{StaticModule(module)};
    for (const InputSet& inputs : calls()) runtime(inputs[0]);
    CHECK(runtime.report().plans.size() <= 2);
    CHECK(runtime.replayed_calls() > 8);
  }
}

TEST_CASE("a number that a trace keeps in a tensor is read where an operator takes a number", "[passes]") {
  const torch::jit::Module module = module_of(R"IR(
graph(%self, %x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %size : int = aten::size(%x, %zero)
  %rows : Tensor = prim::NumToTensor(%size)
  %n : Scalar = aten::ScalarImplicit(%rows)
  %y : Tensor = aten::arange(%n, %none, %none, %none, %none)
  return (%y))IR");
  check_model(module,
              {{at::randn({3})}, {at::randn({3})}, {at::randn({3})}, {at::randn({7})}, {at::randn({0})}});
}

TEST_CASE("other tensors are read as before", "[passes]") {
  for (const std::string body :
       {"  %t : Tensor = aten::add_(%rows, %rows, %one)",  // written
        "  %t : Tensor = aten::mul(%rows, %half)",         // a float
        "  %a : Tensor = aten::add(%rows, %rows, %two)\n  %t : Tensor = aten::sub(%a, %rows, %two)",
        "  %t : Tensor = aten::floor_divide(%rows, %columns)",  // perhaps by zero
        "  %t : Tensor = aten::sum(%rows, %zero)"}) {
    CAPTURE(body);
    const torch::jit::Module module = traced(body);
    CHECK(reads_tensors(module));
    check_model(module, {{at::randn({4, 4})}, {at::randn({4, 4})}, {at::randn({8, 4})}, {at::randn({8, 4})}},
                close());
  }
  // The tensor itself is a result; a zero divides.
  check_model(traced("  %t : Tensor = aten::mul(%rows, %columns)", "%all"), calls(), close());
  check_model(traced("  %t : Tensor = aten::floor_divide(%rows, %zero)"), {{at::randn({4, 4})}}, close());
}

}  // namespace sr::test::sizes_in_tensors_tests
