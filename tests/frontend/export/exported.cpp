// Programs of torch.export read by C++; tests/python/exported tests what Python exports.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/script.h>

#include <sr/exported.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/zip.hpp"

namespace sr::test::exported_tests {

namespace {

using sr::exported::Json;
using sr::test::zip;

Json fixed(std::initializer_list<std::int64_t> numbers) {
  Json sizes = Json::array();
  for (const std::int64_t number : numbers) sizes.push_back({{"as_int", number}});
  return sizes;
}

Json symbol(const std::string& name) {
  return {{"as_expr", {{"expr_str", "Symbol('" + name + "', positive=True, integer=True)"}}}};
}

Json tensor_meta(Json sizes, Json strides) {
  return {{"dtype", 7},
          {"sizes", std::move(sizes)},
          {"strides", std::move(strides)},
          {"storage_offset", {{"as_int", 0}}},
          {"layout", 7}};
}

Json argument(const char* name, Json value) {
  return {{"name", name}, {"arg", std::move(value)}, {"kind", 1}};
}
Json tensor(const char* name) {
  return {{"as_tensor", {{"name", name}}}};
}

// x * w + 1 with x of [n, 4], 3 <= n <= 8.
Json program() {
  Json graph;
  graph["inputs"] = {tensor("w"), tensor("x")};
  graph["tensor_values"]["x"] = tensor_meta({symbol("s0"), {{"as_int", 4}}}, fixed({4, 1}));
  graph["nodes"] = {{{"target", "torch.ops.aten.mul.Tensor"},
                     {"name", "product"},
                     {"inputs", {argument("self", tensor("x")), argument("other", tensor("w"))}},
                     {"outputs", {tensor("product")}},
                     {"metadata", {{"stack_trace", "  File \"net.py\", line 12, in forward\n    x * w"}}}},
                    {{"target", "torch.ops.aten.add.Tensor"},
                     {"name", "sum"},
                     {"inputs", {argument("self", tensor("product")), argument("other", {{"as_int", 1}})}},
                     {"outputs", {tensor("sum")}},
                     {"metadata", Json::object()}}};
  graph["outputs"] = {tensor("sum")};
  Json made;
  made["schema_version"] = {{"major", 8}, {"minor", 20}};
  made["range_constraints"]["s0"] = {{"min_val", 3}, {"max_val", 8}};
  made["graph_module"]["graph"] = std::move(graph);
  made["graph_module"]["module_call_graph"] = Json::array();
  made["graph_module"]["signature"]["input_specs"] = {
      {{"parameter", {{"arg", {{"name", "w"}}}, {"parameter_name", "weight"}}}},
      {{"user_input", {{"arg", tensor("x")}}}}};
  made["graph_module"]["signature"]["output_specs"] = {{{"user_output", {{"arg", tensor("sum")}}}}};
  return made;
}

sr::StaticModule module_of(const Json& json, const at::Tensor& weight) {
  return sr::StaticModule(
      sr::exported::to_module(sr::exported::import_program(json.dump(), {{"weight", weight}})));
}

// The sentence of the error.
template <class Refusal>
std::string refusal(const Json& json) {
  try {
    module_of(json, at::ones({4}));
  } catch (const Refusal& error) {
    return error.what();
  }
  return {};
}

std::string archive(const Json& json, std::int64_t stored = 4) {
  Json config;
  config["config"]["weight"] = {
      {"path_name", "weight_0"}, {"use_pickle", false}, {"tensor_meta", tensor_meta(fixed({4}), fixed({1}))}};
  const std::vector<float> weights(static_cast<std::size_t>(stored), 2.0F);
  return zip({{"m/archive_format", "pt2"},
              {"m/models/model.json", json.dump()},
              {"m/data/weights/model_weights_config.json", config.dump()},
              {"m/data/weights/weight_0",
               std::string(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float))}});
}

}  // namespace

TEST_CASE("an exported program runs with any number of rows in its range", "[exported]") {
  const at::Tensor weight = at::arange(4, at::kFloat);
  sr::StaticRuntime<> runtime(module_of(program(), weight));
  for (int round = 0; round < 4; ++round) {
    for (const std::int64_t rows : {3, 8}) {
      const at::Tensor x = at::randn({rows, 4});
      CHECK(at::equal(runtime({x}).toTensor(), x * weight + 1));
    }
  }
  CHECK_THROWS_AS(runtime({at::ones({2, 4})}), sr::ArgumentError);
  CHECK_THROWS_AS(runtime({at::ones({9, 4})}), sr::ArgumentError);
  CHECK_THROWS_AS(runtime({at::ones({3, 5})}), sr::ArgumentError);
  CHECK_THROWS_AS(runtime({at::ones({3, 4}, at::kDouble)}), sr::ArgumentError);
  CHECK_THROWS_AS(runtime({at::ones({12})}), sr::ArgumentError);
}

TEST_CASE("sr::load reads an archive of torch.export.save", "[exported][load]") {
  std::istringstream stream(archive(program()));
  const sr::StaticModule module = sr::load(stream);
  CHECK(at::equal(module({at::ones({5, 4})}).toTensor(), at::full({5, 4}, 3.0F)));
  CHECK(module.schema().arguments().at(0).name() == "x");
}

TEST_CASE("a module describes the sizes and dtypes of an exported program", "[exported]") {
  std::istringstream stream(archive(program()));
  const std::vector<sr::ValueSpec> inputs = sr::load(stream).inputs();
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].name == "x");
  CHECK((inputs[0].dtype == at::kFloat));
  CHECK((inputs[0].sizes == std::vector<sr::SizeSpec>{std::string("s0"), std::int64_t{4}}));
}

TEST_CASE("sr::load maps the weights of a file", "[exported][load]") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("sr_mapped_" + std::to_string(getpid()) + ".pt2");
  std::ofstream(file, std::ios::binary) << archive(program());
  {
    const sr::StaticModule module =
        sr::load(file.string(), {.weights = {.memory = sr::WeightMemory::mapped}});
    std::filesystem::remove(file);  // the module keeps what it has mapped
    for (int call = 0; call < 3; ++call)
      CHECK(at::equal(module({at::ones({5, 4})}).toTensor(), at::full({5, 4}, 3.0F)));
  }
  const auto refuses = [&](const std::string& path, const char* words) {
    CHECK_THROWS_WITH(sr::load(path, {.weights = {.memory = sr::WeightMemory::mapped}}),
                      Catch::Matchers::Contains(words));
  };
  refuses(file.string(), "cannot be opened for reading: No such file");
  refuses(std::filesystem::temp_directory_path().string(), "is not a file");
  std::ofstream(file, std::ios::binary) << "";
  refuses(file.string(), "is empty");
  std::filesystem::remove(file);
}

TEST_CASE("sr::load maps the weights of a TorchScript file", "[load]") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("sr_mapped_" + std::to_string(getpid()) + ".pt");
  torch::jit::Module net("M");
  net.register_parameter("w", at::rand({64, 64}), false);
  net.define("def forward(self, x):\n    return x @ self.w\n");
  net.save(file.string());
  const sr::StaticModule module = sr::load(file.string(), {.weights = {.memory = sr::WeightMemory::mapped}});
  std::filesystem::remove(file);
  const at::Tensor x = at::rand({5, 64});
  for (int call = 0; call < 3; ++call)
    CHECK(at::allclose(module({x}).toTensor(), x.matmul(net.attr("w").toTensor())));
}

TEST_CASE("a truncated .pt2 archive is rejected", "[exported][load]") {
  const std::string whole = archive(program());
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    std::istringstream stream(whole.substr(0, size));
    CHECK_THROWS_AS(sr::load(stream), sr::LoadError);
  }
  std::istringstream short_weight(archive(program(), 3));
  CHECK_THROWS_AS(sr::load(short_weight), sr::LoadError);
}

TEST_CASE("a damaged program is refused with its node", "[exported][load]") {
  Json unknown = program();
  unknown["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.aten.no_such.default";
  const std::string sentence = refusal<sr::UnsupportedOpError>(unknown);
  CHECK(sentence.find("'product'") != std::string::npos);
  CHECK(sentence.find("net.py:12") != std::string::npos);
  CHECK(sentence.find("aten::no_such") != std::string::npos);

  Json undefined = program();
  undefined["graph_module"]["graph"]["nodes"][1]["inputs"][0] = argument("self", tensor("nobody"));
  CHECK(refusal<sr::LoadError>(undefined).find("'nobody'") != std::string::npos);

  Json writes = program();
  Json& product = writes["graph_module"]["graph"]["nodes"][0];
  product["target"] = "torch.ops.aten.mul_.Tensor";
  product["inputs"][0] = argument("self", tensor("w"));
  CHECK(refusal<sr::UnsupportedOpError>(writes).find("writes to the parameter 'weight'") !=
        std::string::npos);
}

TEST_CASE("a program without any one field is rejected or runs", "[exported][load]") {
  const Json whole = program(), flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other : {Json(), Json(-1), Json("x"), Json::array(), Json::object()}) {
      Json damaged = whole;
      damaged[Json::json_pointer(pointer)] = other;
      INFO(pointer << " is " << other);
      try {
        module_of(damaged, at::ones({4}));
      } catch (const sr::LoadError&) {
      } catch (const sr::UnsupportedOpError&) {
      }
    }
  }
  SUCCEED();
}

}  // namespace sr::test::exported_tests
