// Weights that get other data, other memory, or are replaced by another tensor.
#include <cstring>
#include <string>
#include <vector>

#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/followed.hpp"

namespace sr::test::weights_moved_tests {

using Module = torch::jit::Module;

TEST_CASE("a weight that is given other data is followed", "[weights]") {
  for (const bool requires_grad : {false, true}) {
    check_follows(linear(requires_grad), rows(), more_rows(), [](Module& module) {
      module.attr("w").toTensor().set_data(weight({16, 8}));
    });
    // Reads the same bytes in another order.
    check_follows(
        script("def forward(self, x):\n    return x @ self.w\n", {{"w", weight({8, 8}, requires_grad)}}),
        rows(), more_rows(), [](Module& module) {
          const at::Tensor w = module.attr("w").toTensor();
          w.set_data(w.detach().t());
        });
  }
}

TEST_CASE("a weight whose sizes, strides or offset alone change is followed at any rank", "[weights]") {
  for (std::size_t rank = 0; rank <= 7; ++rank) {
    const at::Tensor memory = weight({512});
    const std::vector<std::int64_t> sizes(rank, 2);
    std::vector<std::int64_t> strides(rank), wider(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      strides[d] = std::int64_t{1} << d;
      wider[d] = 2 * strides[d];
    }
    const at::Tensor before = memory.as_strided(sizes, strides);
    std::vector<at::Tensor> after{memory.as_strided(sizes, strides, 1), before.unsqueeze(0)};
    if (rank != 0) {
      after.push_back(memory.as_strided(sizes, wider));
      after.push_back(before.narrow(0, 0, 1));
      after.push_back(before.narrow(-1, 0, 1));
    }
    for (const at::Tensor& changed : after) {
      INFO(rank << " dimensions become " << changed.sizes() << " with strides " << changed.strides());
      check_follows(script("def forward(self, x):\n    return self.w * x + x\n", {{"w", before.alias()}}),
                    {at::tensor(2.0f)}, {at::tensor({3.0f})},
                    [&](Module& module) { module.attr("w").toTensor().set_data(changed); });
    }
  }
}

TEST_CASE("a weight is followed where an operator beside it makes what is written", "[weights]") {
  for (const char* body : {"    y = torch.var(self.w, 0, unbiased=False)\n    y.relu_()\n    return x * y\n",
                           "    y = torch.cdist(self.w, self.w)\n    y.add_(1)\n    return x @ y\n",
                           "    y = torch.where(self.w > 1, 1.5, 2.5)\n    y.mul_(2)\n    return x @ y\n",
                           "    y = torch.inner(self.w, self.w)\n    y.mul_(2)\n    return x @ y\n"}) {
    INFO(body);
    check_follows(script(std::string("def forward(self, x):\n") + body, {{"w", weight({8, 8})}}), rows(),
                  more_rows(), [](Module& module) {
                    module.attr("w").toTensor().set_data(weight({8, 8}));
                  });
  }
}

TEST_CASE("an attribute that is given another tensor is followed", "[weights]") {
  check_follows(linear(), rows(), more_rows(), [](Module& module) {
    module.setattr("w", weight({16, 8}, /*requires_grad=*/true));
  });
}

TEST_CASE("a table that became longer is read to its end", "[weights]") {
  const auto module = script("def forward(self, ids):\n    return torch.embedding(self.table, ids) * 2\n",
                             {{"table", weight({10, 8})}});
  Module changed = module;
  const std::vector<c10::IValue> ids{at::tensor({1, 9})};
  Ways ways(changed, ids);
  changed.attr("table").toTensor().set_data(weight({1 << 16, 8}));
  check_agrees(ways, changed, ids);
  check_agrees(ways, changed, {at::tensor({(1 << 16) - 1, 77})});
}

TEST_CASE("weights that move to another dtype and back are followed", "[weights]") {
  Module module = script("def forward(self, x):\n    return torch.linear(x, self.w) * self.s\n",
                         {{"w", weight({16, 8})}, {"s", weight({16})}});
  Ways ways(module, rows());
  to_dtype(module, at::kDouble);
  const std::vector<c10::IValue> doubles{sample({4, 8}, at::kDouble)};
  check_agrees(ways, module, doubles);
  CHECK_THROWS(module.forward(rows()));
  CHECK_THROWS(ways.runtime()(rows()));
  to_dtype(module, at::kFloat);
  check_agrees(ways, module, rows());
  check_agrees(ways, module, more_rows());
}

TEST_CASE("a storage that is given other memory is followed", "[weights]") {
  const auto move = [](Module& module) {  // as share_memory_() does
    for (const at::Tensor& tensor : module.buffers()) {
      c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
      at::DataPtr moved = c10::GetCPUAllocator()->allocate(storage->nbytes());
      std::memcpy(moved.get(), storage->data(), storage->nbytes());
      at::DataPtr old = storage->set_data_ptr(std::move(moved));
      std::memset(old.get(), 0x7F, storage->nbytes());
    }
  };
  check_follows(
      script("def forward(self, ids):\n    return torch.embedding(self.t, ids) * self.s + self.s.sum()\n",
             {{"t", weight({10, 8})}, {"s", weight({8})}}),
      {at::tensor({1, 9})}, {at::tensor({1, 9, 3})}, move);
}

TEST_CASE("weights made in inference mode are followed by a few of their elements", "[weights]") {
  const c10::InferenceMode inference;
  check_follows(linear(), rows(), more_rows(), add_to("w"));
}

TEST_CASE("writes without a version are noticed if they change every element", "[weights]") {
  check_follows(linear(), rows(), more_rows(), [](Module& module) {
    module.attr("w").toTensor().variable_data().mul_(2);
    module.attr("b").toTensor().variable_data().add_(1);
  });
}

TEST_CASE("refresh_weights makes calls read every weight anew", "[weights]") {
  Module module = linear();
  Ways ways(module, rows());
  module.attr("w").toTensor().mutable_data_ptr<float>()[5] += 50;
  ways.module().refresh_weights();
  const c10::IValue expected = module.forward(rows());
  CHECK(compare_values(expected, ways.module()(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
  CHECK(compare_values(expected, ways.runtime()(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
}

TEST_CASE("constants of a graph are weights, too", "[weights]") {
  const auto parsed = graph("graph(%x : Tensor):\n  return (%x)\n");
  const at::Tensor w = weight({8, 8});
  {
    const torch::jit::WithInsertPoint before(parsed->return_node());
    torch::jit::Value* product =
        parsed->insert(c10::aten::matmul, {parsed->inputs()[0], parsed->insertConstant(w)});
    parsed->return_node()->replaceInput(0, product);
  }
  const StaticModule module(parsed);
  StaticRuntime<> runtime(module);
  const at::Tensor x = sample({4, 8});
  for (int i = 0; i < 3; ++i) runtime(x);
  w.mul_(2);
  for (int i = 0; i < 3; ++i) CHECK(at::allclose(runtime(x).toTensor(), x.matmul(w), 1e-4, 1e-4));
}

TEST_CASE("constants of every rank are compared", "[weights]") {
  for (std::int64_t rank = 0; rank <= 6; ++rank) {
    INFO("rank " << rank);
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 2);
    const auto parsed = graph("graph(%x : Tensor):\n  return (%x)\n");
    const at::Tensor w = weight(sizes);
    {
      const torch::jit::WithInsertPoint before(parsed->return_node());
      parsed->return_node()->replaceInput(
          0, parsed->insert(c10::aten::mul, {parsed->inputs()[0], parsed->insertConstant(w)}));
    }
    const StaticModule module(parsed);
    StaticRuntime<> runtime(module);
    const at::Tensor x = sample({2});
    const auto check = [&] {
      for (int i = 0; i < 3; ++i) CHECK(at::equal(runtime(x).toTensor(), x * w));
    };
    check();
    w.mul_(2);
    check();
    w.set_(weight(sizes) + 1);
    check();
    if (rank < 2) continue;
    w.transpose_(0, 1);
    check();
  }
}

}  // namespace sr::test::weights_moved_tests
