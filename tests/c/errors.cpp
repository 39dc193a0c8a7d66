// What sr.h answers to wrong arguments, damaged files and failing models.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "handles.hpp"

namespace sr::test::c {

TEST_CASE("what cannot be loaded is refused with a sentence", "[c]") {
  sr_module* module = nullptr;
  CHECK(sr_module_load("/nowhere/model.pt2", nullptr, &module) == SR_LOAD);
  CHECK(std::string(sr_last_error()).find("/nowhere/model.pt2") != std::string::npos);
  CHECK(sr_module_load(nullptr, nullptr, &module) == SR_ARGUMENT);
  CHECK(sr_module_load("/nowhere", nullptr, nullptr) == SR_ARGUMENT);
  CHECK(std::string(sr_last_error()) == "The parameter `module` is null.");
  const std::string bytes = archive_of(script("def forward(self, x):\n    return x + 1\n"));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    CHECK(sr_module_load_bytes(bytes.data(), size, nullptr, &module) == SR_LOAD);
    CHECK(module == nullptr);
  }
  CHECK(sr_module_load_bytes(nullptr, 3, nullptr, &module) == SR_ARGUMENT);
  sr_module_options options{};
  CHECK(sr_module_load_bytes(bytes.data(), bytes.size(), &options, &module) == SR_ARGUMENT);
  options.size = sizeof options;
  options.map_weights = 1;
  CHECK(sr_module_load_bytes(bytes.data(), bytes.size(), &options, &module) == SR_ARGUMENT);

  const std::filesystem::path path = std::filesystem::temp_directory_path() / "sr_c_errors.pt";
  std::ofstream(path, std::ios::binary) << bytes;
  REQUIRE(sr_module_load(path.c_str(), nullptr, &module) == SR_OK);
  const Owned<sr_module> loaded(module);
  std::filesystem::remove(path);
  const auto results = call(module, Args(at::ones({2})));
  CHECK(at::equal(tensor_of(results.get()), at::full({2}, 2.0)));
}

TEST_CASE("an operator's exception is a status with its sentence, and the next call works", "[c]") {
  const auto module = load("def forward(self, x, y):\n    return x @ y\n");
  const at::Tensor x = at::ones({2, 3}), y = at::ones({3, 2}), wrong = at::ones({4, 4});
  for (int round = 0; round < 4; ++round) {
    const Args bad(x, wrong);
    sr_results* results = nullptr;
    CHECK(sr_module_call(module.get(), bad.data(), bad.size(), nullptr, &results) == SR_OPERATOR);
    CHECK(results == nullptr);
    CHECK(std::string(sr_last_error()).find("mat1 and mat2") != std::string::npos);
    CHECK(at::equal(tensor_of(call(module.get(), Args(x, y)).get()), at::full({2, 2}, 3.0)));
  }
  const Args few(x);
  sr_results* results = nullptr;
  CHECK(sr_module_call(module.get(), few.data(), few.size(), nullptr, &results) == SR_ARGUMENT);
  const Args many(x, y, y);
  CHECK(sr_module_call(module.get(), many.data(), many.size(), nullptr, &results) == SR_ARGUMENT);
  const Args number(x, 1);
  CHECK(sr_module_call(module.get(), number.data(), number.size(), nullptr, &results) == SR_ARGUMENT);
  CHECK(sr_module_call(module.get(), nullptr, 2, nullptr, &results) == SR_ARGUMENT);
  CHECK(sr_module_call(nullptr, number.data(), 2, nullptr, &results) == SR_ARGUMENT);
  CHECK(sr_module_call(module.get(), number.data(), 2, nullptr, nullptr) == SR_ARGUMENT);
}

TEST_CASE("a result without a DLPack description fails with SR_UNSUPPORTED", "[c]") {
  const auto sparse = load("def forward(self, x):\n    return x.to_sparse()\n");
  const Args args(at::eye(3));
  sr_results* results = nullptr;
  CHECK(sr_module_call(sparse.get(), args.data(), args.size(), nullptr, &results) == SR_UNSUPPORTED);
  CHECK(results == nullptr);
}

TEST_CASE("handles that are null are refused", "[c]") {
  std::size_t count = 5;
  CHECK(sr_module_inputs(nullptr, &count) == nullptr);
  CHECK(count == 0);
  CHECK(sr_module_outputs(nullptr, nullptr) == nullptr);
  CHECK(sr_results_value(nullptr) == nullptr);
  CHECK(sr_results_tensors(nullptr, &count) == nullptr);
  char* json = nullptr;
  CHECK(sr_module_report(nullptr, &json) == SR_ARGUMENT);
  CHECK(sr_module_trim(nullptr) == SR_ARGUMENT);
  CHECK(sr_module_reserve(nullptr, nullptr, 0, 1) == SR_ARGUMENT);
  CHECK(sr_module_update(nullptr, nullptr, nullptr, 0, 1) == SR_ARGUMENT);
  CHECK(sr_bound_call(nullptr) == SR_ARGUMENT);
  CHECK(sr_session_reset(nullptr) == SR_ARGUMENT);
  CHECK(sr_cancel_request(nullptr) == SR_ARGUMENT);
  CHECK(sr_set_intra_op_threads(0) == SR_ARGUMENT);
  CHECK(sr_set_intra_op_threads(1) == SR_OK);
  sr_module_free(nullptr);
  sr_results_free(nullptr);
  sr_session_free(nullptr);
  sr_pool_free(nullptr);
  sr_bound_free(nullptr);
  sr_batcher_free(nullptr);
  sr_cancel_free(nullptr);
  sr_text_free(nullptr);
}

TEST_CASE("wrong descriptions are refused, whatever is wrong", "[c]") {
  const auto module = load("def forward(self, x, more: List[Tensor]):\n    return x + len(more)\n");
  std::mt19937 dice(3);
  const auto roll = [&](int sides) { return static_cast<int>(dice() % static_cast<unsigned>(sides)); };
  float data[64] = {};
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::int64_t shape[] = {2, 3}, strides[] = {3, 1};
    sr_tensor tensor{data, {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
    sr_value inner{};
    inner.kind = SR_TENSOR;
    inner.as.tensor = &tensor;
    sr_value args[2] = {inner, {}};
    args[1].kind = SR_LIST;
    args[1].count = 1;
    args[1].as.elements = &inner;
    switch (roll(14)) {
      case 0:
        tensor.ndim = roll(2) ? -1 : 65;
        break;
      case 1:
        tensor.dtype = {static_cast<std::uint8_t>(3 + roll(9)), static_cast<std::uint8_t>(8 * roll(9)),
                        static_cast<std::uint16_t>(roll(3))};
        break;
      case 2:
        tensor.data = nullptr;
        break;
      case 3:
        tensor.byte_offset = 1;
        break;
      case 4:
        shape[roll(2)] = -1 - roll(5);
        break;
      case 5:
        shape[roll(2)] = std::int64_t{1} << 62;
        break;
      case 6:
        strides[roll(2)] = -1;
        break;
      case 7:
        tensor.shape = nullptr;
        break;
      case 8:
        tensor.device.type = 2;
        break;
      case 9:
        args[roll(2)].kind = 9 + roll(100);
        break;
      case 10:
        args[1].count = -1;
        break;
      case 11:
        args[1].as.elements = nullptr;
        break;
      case 12:
        args[0].as.tensor = nullptr;
        break;
      default:
        args[1].kind = SR_DICT;
        break;
    }
    sr_results* results = nullptr;
    const sr_status status = sr_module_call(module.get(), args, 2, nullptr, &results);
    const Owned<sr_results> owned(results);
    if (status == SR_OK) continue;
    ++refused;
    REQUIRE(std::strlen(sr_last_error()) > 10);
  }
  CHECK(refused > 18000);
  // Deep nesting ends at a limit.
  std::vector<sr_value> nested(1000);
  for (std::size_t i = 0; i + 1 < nested.size(); ++i) {
    nested[i].kind = SR_LIST;
    nested[i].count = 1;
    nested[i].as.elements = &nested[i + 1];
  }
  const Args deep(at::ones({2}), nested[0]);
  sr_results* results = nullptr;
  CHECK(sr_module_call(module.get(), deep.data(), deep.size(), nullptr, &results) == SR_ARGUMENT);
  CHECK(std::string(sr_last_error()).find("64 levels") != std::string::npos);
}

TEST_CASE("calls end by a timeout or a cancel handle", "[c]") {
  const auto module =
      load("def forward(self, x):\n    for i in range(50000):\n        x = torch.sin(x)\n    return x\n");
  const Args args(at::ones({4}));
  sr_results* results = nullptr;
  sr_call_options options{};
  options.size = sizeof options;
  options.timeout_ns = 1000000;
  CHECK(sr_module_call(module.get(), args.data(), args.size(), &options, &results) == SR_CANCELLED);
  options.timeout_ns = -1;
  CHECK(sr_module_call(module.get(), args.data(), args.size(), &options, &results) == SR_ARGUMENT);
  options.timeout_ns = 0;
  sr_cancel* cancel = nullptr;
  REQUIRE(sr_cancel_new(&cancel) == SR_OK);
  const Owned<sr_cancel> owned(cancel);
  options.cancel = cancel;
  CHECK(sr_cancel_request(cancel) == SR_OK);
  CHECK(sr_module_call(module.get(), args.data(), args.size(), &options, &results) == SR_CANCELLED);
  CHECK(results == nullptr);
}

}  // namespace sr::test::c
