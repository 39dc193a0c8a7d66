// Calls through sr.h: values of all kinds in and out, by position and by name.
#include <cstddef>
#include <cstring>
#include <thread>

#include <ATen/dlpack.h>

#include "handles.hpp"

namespace sr::test::c {

TEST_CASE("a tensor has the layout of DLPack's", "[c]") {
  STATIC_REQUIRE(sizeof(sr_tensor) == sizeof(DLTensor));
  STATIC_REQUIRE(offsetof(sr_tensor, data) == offsetof(DLTensor, data));
  STATIC_REQUIRE(offsetof(sr_tensor, device) == offsetof(DLTensor, device));
  STATIC_REQUIRE(offsetof(sr_tensor, ndim) == offsetof(DLTensor, ndim));
  STATIC_REQUIRE(offsetof(sr_tensor, dtype) == offsetof(DLTensor, dtype));
  STATIC_REQUIRE(offsetof(sr_tensor, shape) == offsetof(DLTensor, shape));
  STATIC_REQUIRE(offsetof(sr_tensor, strides) == offsetof(DLTensor, strides));
  STATIC_REQUIRE(offsetof(sr_tensor, byte_offset) == offsetof(DLTensor, byte_offset));
  CHECK(sr_abi_version() == SR_ABI_VERSION);
  CHECK(std::strchr(sr_version(), '.') != nullptr);
}

TEST_CASE("arguments and results may have every dtype and layout", "[c]") {
  const auto module = load("def forward(self, x):\n    return x + x\n");
  for (const at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte, at::kChar, at::kShort, at::kInt,
        at::kLong, at::kComplexFloat, at::kComplexDouble}) {
    CAPTURE(dtype);
    const at::Tensor x = at::randint(0, 9, {4, 6}).to(dtype);
    const std::vector<at::Tensor> layouts{x,
                                          x.t(),
                                          x.slice(1, 0, 6, 2),
                                          x.select(0, 2),
                                          x[1][2],
                                          x.narrow(0, 1, 0),
                                          x[0].expand({3, 6}),
                                          x.unsqueeze(0)};
    for (int round = 0; round < 3; ++round) {
      for (const at::Tensor& each : layouts) {
        const auto results = call(module.get(), Args(each));
        const at::Tensor y = tensor_of(results.get());
        CHECK(y.scalar_type() == dtype);
        CHECK(at::equal(y, each + each));
      }
    }
  }
}

TEST_CASE("a lazy conjugate is resolved before it is described", "[c]") {
  const auto module = load("def forward(self, x):\n    return [x.conj(), x * 2], x.conj().imag\n");
  const at::Tensor x = at::randn({2, 3}, at::kComplexFloat);
  for (int round = 0; round < 4; ++round) {
    const auto results = call(module.get(), Args(x));
    CHECK(at::equal(tensor_of(results.get()), x.conj().resolve_conj()));
    CHECK(at::equal(tensor_of(results.get(), 1), x * 2));
    CHECK(at::equal(tensor_of(results.get(), 2), at::imag(x.conj()).resolve_neg()));
    void* made = nullptr;
    REQUIRE(sr_results_to_dlpack(results.get(), 0, &made) == SR_OK);
    auto* const managed = static_cast<DLManagedTensor*>(made);
    CHECK(at::equal(at::from_blob(managed->dl_tensor.data, {2, 3}, at::kComplexFloat),
                    x.conj().resolve_conj()));
    managed->deleter(managed);
  }
}

TEST_CASE("a dense tensor needs no strides, and data may begin behind the pointer", "[c]") {
  const auto module = load("def forward(self, x):\n    return x * 2\n");
  at::Tensor x = at::arange(12.0).to(at::kFloat);
  std::int64_t shape[] = {2, 3};
  sr_tensor described{x.mutable_data_ptr(), {1, 0}, 2, {2, 32, 1}, shape, nullptr, 6 * sizeof(float)};
  sr_value value{};
  value.kind = SR_TENSOR;
  value.as.tensor = &described;
  for (int round = 0; round < 4; ++round) {
    const auto results = call(module.get(), Args(value));
    CHECK(at::equal(tensor_of(results.get()), (x.slice(0, 6) * 2).view({2, 3})));
  }
}

TEST_CASE("results have the structure that the model returns", "[c]") {
  const auto module = load(
      "def forward(self, x, n: int, scale: float, flag: bool, names: List[str], more: List[Tensor],\n"
      "            table: Dict[str, Tensor], pair: Tuple[int, Tensor], maybe: Optional[Tensor]):\n"
      "    y = x * scale + n\n    if flag:\n        y = -y\n    if maybe is not None:\n        y = y + "
      "maybe\n"
      "    return y, {'sum': y.sum(), 'first': more[0] + table['t']}, [n, n + 1], (names[0], scale, flag, "
      "None), "
      "more, pair[1] * pair[0]\n");
  const at::Tensor x = at::randn({3}), a = at::randn({2}), t = at::randn({2});
  for (int round = 0; round < 4; ++round) {
    const bool has_more = round % 2 == 1;
    Args names("one", "two"), more(a, x), table("t", t), pair(7, x);
    const Args args(x, 3, 0.5, true, names.as(SR_LIST), more.as(SR_TUPLE), table.as(SR_DICT),
                    pair.as(SR_TUPLE));
    Args all(x, 3, 0.5, true, names.as(SR_LIST), more.as(SR_TUPLE), table.as(SR_DICT), pair.as(SR_TUPLE));
    if (has_more) {
      all.add(x);
    } else {
      all.add(sr_value{});
    }
    const auto results = call(module.get(), all);
    const sr_value* const root = sr_results_value(results.get());
    REQUIRE(root != nullptr);
    CHECK(root == sr_results_value(results.get()));
    const auto elements = value_of(*root).toTupleRef().elements().vec();
    REQUIRE(elements.size() == 6);
    const at::Tensor y = -(x * 0.5 + 3) + (has_more ? x : at::zeros_like(x));
    CHECK(at::allclose(elements[0].toTensor(), y));
    CHECK(at::allclose(elements[1].toGenericDict().at("sum").toTensor(), y.sum()));
    CHECK(at::allclose(elements[1].toGenericDict().at("first").toTensor(), a + t));
    CHECK(elements[2].toListRef()[1].toInt() == 4);
    const auto last = elements[3].toTupleRef().elements().vec();
    CHECK(last[0].toStringRef() == "one");
    CHECK(last[1].toDouble() == 0.5);
    CHECK(last[2].toBool());
    CHECK(last[3].isNone());
    CHECK(elements[4].toListRef().size() == 2);
    CHECK(at::allclose(elements[5].toTensor(), x * 7));
    std::size_t count = 0;
    const sr_tensor* const tensors = sr_results_tensors(results.get(), &count);
    REQUIRE(count == 6);
    CHECK(at::equal(copy_of(tensors[0]), elements[0].toTensor()));
    CHECK(at::equal(copy_of(tensors[5]), elements[5].toTensor()));
  }
}

TEST_CASE("keys of a dict may be tensors, which are tensors of the results, too", "[c]") {
  const auto module = load("def forward(self, x):\n    return {x + 1: x * 2, x + 3: x * 4}\n");
  const at::Tensor x = at::randn({3});
  for (int round = 0; round < 3; ++round) {
    const auto results = call(module.get(), Args(x));
    std::size_t count = 0;
    const sr_tensor* const tensors = sr_results_tensors(results.get(), &count);
    REQUIRE(count == 4);
    const sr_value* const root = sr_results_value(results.get());
    REQUIRE(root->kind == SR_DICT);
    REQUIRE(root->count == 4);
    for (std::size_t i = 0; i < count; ++i)
      CHECK(at::equal(copy_of(tensors[i]),
                      i % 2 == 0 ? x + static_cast<int>(i + 1) : x * static_cast<int>(i + 1)));
  }
}

TEST_CASE("arguments may be given by name", "[c]") {
  const auto module =
      load("def forward(self, x, scale: float = 2.0, shift: int = 1):\n    return x * scale + shift\n");
  const at::Tensor x = at::randn({3});
  const char* names[] = {"shift", "scale"};
  sr_call_options options{};
  options.size = sizeof options;
  options.names = names;
  options.named = 2;
  auto results = call(module.get(), Args(x, 5, 3), &options);
  CHECK(at::allclose(tensor_of(results.get()), x * 3 + 5));
  options.named = 1;
  results = call(module.get(), Args(x, 5), &options);
  CHECK(at::allclose(tensor_of(results.get()), x * 2 + 5));
  for (int round = 0; round < 4; ++round) {
    CHECK(at::allclose(tensor_of(call(module.get(), Args(x)).get()), x * 2 + 1));
    CHECK(at::allclose(tensor_of(call(module.get(), Args(x, round)).get()), x * round + 1));
  }

  sr_results* none = nullptr;
  const Args both(x, 1.0, 5);
  names[0] = "scale";
  CHECK(sr_module_call(module.get(), both.data(), both.size(), &options, &none) == SR_ARGUMENT);
  names[0] = "size";
  CHECK(sr_module_call(module.get(), both.data(), both.size(), &options, &none) == SR_ARGUMENT);
  CHECK(std::string(sr_last_error()) == "The model has no argument 'size'.");
  options.named = 4;
  CHECK(sr_module_call(module.get(), both.data(), both.size(), &options, &none) == SR_ARGUMENT);
  options.named = 1;
  options.size = sizeof options + 8;
  CHECK(sr_module_call(module.get(), both.data(), both.size(), &options, &none) == SR_ARGUMENT);
  CHECK(none == nullptr);
  std::size_t count = 0;
  const sr_spec* const inputs = sr_module_inputs(module.get(), &count);
  REQUIRE(count == 3);
  CHECK(std::string(inputs[1].name) == "scale");
  CHECK(std::string(inputs[1].type) == "float");
  CHECK(inputs[1].has_default == 1);
  CHECK(inputs[0].has_default == 0);
  sr_module_outputs(module.get(), &count);
  CHECK(count == 1);
}

TEST_CASE("results are copied into buffers of the caller", "[c]") {
  const auto module = load("def forward(self, x):\n    return x + 1, x.sum(1)\n");
  for (int round = 0; round < 4; ++round) {
    const at::Tensor x = at::randn({round + 1, 4});
    at::Tensor y = at::zeros({round + 1, 4}), sum = at::zeros({round + 1});
    Args described;
    const std::vector<sr_tensor> outputs{described.describe(y), described.describe(sum)};
    const Args args(x);
    REQUIRE(sr_module_call_into(module.get(), args.data(), args.size(), outputs.data(), outputs.size()) ==
            SR_OK);
    CHECK(at::equal(y, x + 1));
    CHECK(at::allclose(sum, x.sum(1)));
    CHECK(sr_module_call_into(module.get(), args.data(), args.size(), outputs.data(), 1) == SR_ARGUMENT);
    at::Tensor small = at::zeros({2});
    const std::vector<sr_tensor> wrong{described.describe(small), described.describe(sum)};
    CHECK(sr_module_call_into(module.get(), args.data(), args.size(), wrong.data(), wrong.size()) ==
          SR_ARGUMENT);
  }
}

TEST_CASE("a result that is an argument shares its memory, and the next call leaves it alone", "[c]") {
  const auto module = load("def forward(self, x):\n    return x, x[1:], x * 2\n");
  std::vector<Owned<sr_results>> kept;
  std::vector<at::Tensor> given;
  for (int round = 0; round < 6; ++round) {
    given.push_back(at::full({4}, round, at::kFloat));
    kept.push_back(call(module.get(), Args(given.back())));
  }
  for (std::size_t round = 0; round < kept.size(); ++round) {
    std::size_t count = 0;
    const sr_tensor* const tensors = sr_results_tensors(kept[round].get(), &count);
    REQUIRE(count == 3);
    CHECK(tensors[0].data == given[round].const_data_ptr());
    CHECK(at::equal(copy_of(tensors[0]), given[round]));
    CHECK(at::equal(copy_of(tensors[1]), given[round].slice(0, 1)));
    CHECK(at::equal(copy_of(tensors[2]), given[round] * 2));
  }
}

TEST_CASE("a model that changes its argument's sizes or memory changes no later call", "[c]") {
  const auto module = load("def forward(self, x):\n    x.unsqueeze_(0)\n    x.add_(1)\n    return x.sum()\n");
  for (int round = 0; round < 6; ++round) {
    at::Tensor x = at::ones({3 + round % 2});
    const auto results = call(module.get(), Args(x));
    CHECK(tensor_of(results.get()).item().toLong() == 2 * (3 + round % 2));
    CHECK(x.sum().item().toLong() == 2 * (3 + round % 2));
  }
  const auto keeps = load("def forward(self, x):\n    x.resize_([8])\n    x.zero_()\n    return x + 1\n");
  for (int round = 0; round < 4; ++round) {
    const at::Tensor x = at::ones({3});
    const Args args(x);
    sr_results* results = nullptr;
    // LibTorch cannot enlarge memory that it does not own.
    CHECK(sr_module_call(keeps.get(), args.data(), args.size(), nullptr, &results) != SR_OK);
    CHECK(std::strlen(sr_last_error()) > 0);
  }
}

TEST_CASE("a DLPack tensor outlives the results", "[c]") {
  const auto module = load("def forward(self, x):\n    return x * 2\n");
  const at::Tensor x = at::randn({2, 5});
  auto results = call(module.get(), Args(x));
  void* made = nullptr;
  REQUIRE(sr_results_to_dlpack(results.get(), 0, &made) == SR_OK);
  CHECK(sr_results_to_dlpack(results.get(), 1, &made) == SR_ARGUMENT);
  results.reset();
  auto* const managed = static_cast<DLManagedTensor*>(made);
  CHECK(managed->dl_tensor.ndim == 2);
  CHECK(at::equal(at::from_blob(managed->dl_tensor.data, {2, 5}), x * 2));
  managed->deleter(managed);
}

TEST_CASE("any number of threads call one module", "[c]") {
  const auto module = load("def forward(self, x, n: int):\n    return x.view(-1, 1).expand(-1, 3) * n, x\n");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i < 200; ++i) {
        const at::Tensor x = at::full({1 + (i + t) % 5}, t, at::kFloat);
        const Args args(x, i);
        sr_results* results = nullptr;
        if (sr_module_call(module.get(), args.data(), args.size(), nullptr, &results) != SR_OK) {
          ++wrong;
          continue;
        }
        const Owned<sr_results> owned(results);
        std::size_t count = 0;
        const sr_tensor* const tensors = sr_results_tensors(results, &count);
        if (count != 2 || !at::equal(copy_of(tensors[0]), x.view({-1, 1}).expand({-1, 3}) * i) ||
            tensors[1].data != x.const_data_ptr())
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace sr::test::c
