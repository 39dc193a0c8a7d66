// A custom operator: LibTorch knows it by its schema, and sr runs it through a functor that writes into
// planned memory.
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/library.h>
#include <torch/script.h>

#include <sr/sr.hpp>

// For the interpreter, and for the first run in sr, which learns dtype and strides from it.
at::Tensor square_plus(const at::Tensor& self, const at::Scalar& number) {
  return self * self + number;
}

TORCH_LIBRARY(my, library) {
  library.def("square_plus(Tensor self, Scalar number) -> Tensor", &square_plus);
}

// For later runs: `out` has the right dtype, and either the right sizes or no elements.
struct SquarePlus {
  static constexpr sr::OutTraits traits{.keeps_strides = true};
  void operator()(const at::Tensor& self, const at::Scalar& number, at::Tensor& out) const {
    at::mul_out(out, self, self);
    out.add_(number);
  }
};
const sr::OutVariant<"my::square_plus(Tensor self, Scalar number) -> Tensor", SquarePlus> square_plus_out;

// Lets the script below write my.square_plus(x, 1); in Python it is torch.ops.my.square_plus(x, 1).
struct MyOps : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name,
                                                         torch::jit::GraphFunction& method,
                                                         const torch::jit::SourceRange& place) override {
    if (name == "my") return std::make_shared<torch::jit::BuiltinModule>(name);
    return NativeResolver::resolveValue(name, method, place);
  }
};

int main() try {
  torch::jit::Module model("Model");
  model.define("def forward(self, x):\n    return torch.relu(my.square_plus(x, -4))\n",
               std::make_shared<MyOps>());

  sr::StaticRuntime<> runtime{sr::StaticModule(model)};
  runtime(torch::arange(4.0));
  std::cout << runtime(torch::arange(4.0)) << '\n' << runtime.report();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
