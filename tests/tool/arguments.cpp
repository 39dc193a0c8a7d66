// Makes arguments from files and command lines: the declared types of a method, random tensors, numbers.
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/error.hpp>

#include "../src/tool/inputs/inputs.hpp"
#include "support/catch.hpp"
#include "support/tool.hpp"

namespace sr::test::tool_arguments_tests {

namespace {

using sr::tool::conform;
using sr::tool::random_argument;
using sr::tool::read_input_sets;
using sr::tool::write_values;

std::string spec_error(std::string_view spec) {
  try {
    random_argument(spec, at::Generator());
  } catch (const sr::ArgumentError& error) {
    return error.what_without_backtrace();
  }
  FAIL("'" << spec << "' was accepted");
  return {};
}

at::Generator seeded(std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  return generator;
}

at::Tensor random_tensor(std::string_view spec, std::uint64_t seed = 1) {
  return random_argument(spec, seeded(seed)).toTensor();
}

}  // namespace

TEST_CASE("conform converts generic values to the declared types", "[tool]") {
  const at::Tensor x = torch::ones(2);
  const auto tensors = c10::ListType::ofTensors();
  CHECK(conform(list({x, x}), tensors).isTensorList());
  CHECK(conform(list({}), tensors).isTensorList());
  CHECK(conform(std::make_tuple(x, x), tensors).isTensorList());
  CHECK(conform(list({1, 2}), c10::ListType::ofInts()).isIntList());
  CHECK(conform(list({1, 2.5}), c10::ListType::ofFloats()).toDoubleVector() == std::vector<double>{1, 2.5});
  CHECK(conform(1, c10::FloatType::get()).toDouble() == 1);
  CHECK(conform(1, c10::IntType::get()).isInt());
  CHECK(conform(true, c10::FloatType::get()).isBool());
  CHECK(conform(c10::IValue(), c10::OptionalType::create(tensors)).isNone());
  CHECK(conform(list({x}), c10::OptionalType::create(tensors)).isTensorList());
  CHECK(conform(list({list({x}), list({})}), c10::ListType::create(tensors))
            .type()
            ->isSubtypeOf(*c10::ListType::create(tensors)));
  CHECK(conform(list({1}), c10::AnyType::get()).type()->repr_str() == "List[Any]");

  c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
  dict.insert("a", list({x}));
  const auto dict_type = c10::DictType::create(c10::StringType::get(), tensors);
  CHECK(conform(dict, dict_type).type()->isSubtypeOf(*dict_type));

  const auto tuple_type = c10::TupleType::create({tensors, c10::FloatType::get()});
  CHECK(conform(std::make_tuple(list({x}), 2), tuple_type).type()->isSubtypeOf(*tuple_type));
  const auto named = c10::TupleType::createNamed(c10::QualifiedName("__torch__.Pair"),
                                                 std::vector<std::string>{"left", "right"},
                                                 std::vector<c10::TypePtr>{tensors, c10::FloatType::get()});
  CHECK(conform(std::make_tuple(list({x}), 2), named).type()->isSubtypeOf(*named));
  const auto either = c10::UnionType::create({c10::StringType::get(), tensors});
  CHECK(conform(list({x}), either).isTensorList());
}

TEST_CASE("conform does not change a value that does not fit", "[tool]") {
  const at::Tensor x = torch::ones(2);
  CHECK(conform(list({x, "no"}), c10::ListType::ofTensors()).type()->repr_str() == "List[Any]");
  CHECK(conform(list({1}), c10::ListType::ofTensors()).type()->repr_str() == "List[Any]");
  CHECK(conform(list({list({x}), list({1})}), c10::ListType::create(c10::ListType::ofTensors()))
            .type()
            ->repr_str() == "List[Any]");
  CHECK(conform(std::make_tuple(1, 2), c10::TupleType::create({c10::IntType::get()})).toTupleRef().size() ==
        2);
  CHECK(conform(x, c10::ListType::ofTensors()).isTensor());
  CHECK(conform("s", c10::FloatType::get()).isString());
}

TEST_CASE("values of a file go into a scripted function", "[tool]") {
  const Folder folder;
  torch::jit::Module module("M");
  module.define(R"(
def forward(self, xs: List[Tensor], d: Dict[str, List[int]], scale: float, pair: Tuple[Tensor, Optional[int]]):
    return torch.cat(xs) * scale + pair[0] + d['a'][1]
)");
  const at::Tensor x = torch::ones(2);
  c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
  dict.insert("a", list({3, 4}));
  write_values(folder.file("in"), {list({x, x}), dict, 2, std::make_tuple(x, c10::IValue())});
  auto arguments = read_input_sets(folder.file("in")).at(0);
  const auto& declared = module.get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = conform(arguments[i], declared[i + 1].type());
  write_values(folder.file("in"), {list({x, x}), dict, 2, std::make_tuple(torch::ones(4), c10::IValue())});
  arguments[3] = std::make_tuple(torch::ones(4), c10::IValue());
  arguments[3] = conform(arguments[3], declared[4].type());
  CHECK(module.forward(arguments).toTensor().equal(torch::full({4}, 7.0)));
}

TEST_CASE("random arguments have the dtype, sizes and range asked for", "[tool]") {
  const at::Tensor normal = random_tensor("f32[100,50]");
  CHECK(normal.sizes() == at::IntArrayRef({100, 50}));
  CHECK(normal.scalar_type() == at::kFloat);
  CHECK(normal.mean().item<double>() == Approx(0).margin(0.1));
  CHECK(normal.std().item<double>() == Approx(1).margin(0.1));

  const at::Tensor whole = random_tensor("i64[5000]:-3..4");
  CHECK(whole.scalar_type() == at::kLong);
  CHECK(whole.min().item<int>() == -3);
  CHECK(whole.max().item<int>() == 4);
  const at::Tensor uniform = random_tensor("f64[5000]:0.5..1.5");
  CHECK(uniform.min().item<double>() >= 0.5);
  CHECK(uniform.max().item<double>() <= 1.5);
  CHECK(uniform.mean().item<double>() == Approx(1).margin(0.05));
  CHECK(random_tensor("f32[2,3]:0..1").sizes() == at::IntArrayRef({2, 3}));
  CHECK(random_tensor("f32[4]:2..2").equal(torch::full({4}, 2.0)));
  CHECK(random_tensor("f32[]").dim() == 0);
  CHECK(random_tensor("f32[0,4]").sizes() == at::IntArrayRef({0, 4}));
  CHECK(random_tensor("u8[9]:255..255").equal(torch::full({9}, 255, at::kByte)));
  CHECK(random_tensor("i64[9]:9223372036854775807..9223372036854775807")
            .equal(torch::full({9}, std::numeric_limits<std::int64_t>::max(), at::kLong)));
}

TEST_CASE("random arguments cover every dtype and repeat by seed", "[tool]") {
  for (const char* spec :
       {"f16[64]", "bf16[64]", "f32[64]", "f64[64]", "i8[64]", "u8[64]", "i16[64]", "i32[64]", "i64[64]",
        "bool[64]", "f16[64]:-60000..5000", "bf16[64]:0..1", "i8[64]:-128..127", "bool[64]:0..1"}) {
    INFO(spec);
    const at::Tensor first = random_tensor(spec, 7);
    CHECK(first.equal(random_tensor(spec, 7)));
    CHECK(!first.equal(random_tensor(spec, 8)));
    CHECK(first.to(at::kDouble).isfinite().all().item<bool>());
  }
}

TEST_CASE("scalar arguments are taken as written", "[tool]") {
  const at::Generator none;
  CHECK(random_argument("int:-5", none).toInt() == -5);
  CHECK(random_argument("float:0.5", none).toDouble() == 0.5);
  CHECK(random_argument("float:1e-3", none).toDouble() == 1e-3);
  CHECK(random_argument("bool:true", none).toBool());
  CHECK(!random_argument("bool:false", none).toBool());
  CHECK(random_argument("str:abc", none).toStringRef() == "abc");
  CHECK(random_argument("str:a:b[1]", none).toStringRef() == "a:b[1]");
  CHECK(random_argument("str:", none).toStringRef().empty());
  CHECK(random_argument("none", none).isNone());
  CHECK(random_argument("f32[2]", none).isTensor());
}

TEST_CASE("a malformed description names the position and right forms", "[tool]") {
  CHECK(contains(spec_error("f32[8,x]"), "'f32[8,x]' is wrong at position 7: a size was expected"));
  CHECK(contains(spec_error("f32[8,x]"), "f32[8,50]"));
  for (const auto& [spec, position] :
       std::initializer_list<std::pair<const char*, int>>{{"", 1},
                                                          {"f31[8]", 1},
                                                          {"[8]", 1},
                                                          {"f32", 4},
                                                          {"f32[8", 6},
                                                          {"f32[8,]", 7},
                                                          {"f32[,8]", 5},
                                                          {"f32[-1]", 5},
                                                          {"f32[8]x", 7},
                                                          {"f32[8]:", 8},
                                                          {"f32[8]:0", 8},
                                                          {"f32[8]:0..", 11},
                                                          {"f32[8]:..1", 8},
                                                          {"f32[8]:1..0", 11},
                                                          {"f32[8]:0..inf", 11},
                                                          {"f32[8]:nan..1", 8},
                                                          {"u8[8]:0..256", 10},
                                                          {"i8[8]:-129..0", 7},
                                                          {"i64[8]:0..0.5", 12},
                                                          {"int:", 5},
                                                          {"int:5x", 6},
                                                          {"int:99999999999999999999", 5},
                                                          {"float:", 7},
                                                          {"bool:yes", 6},
                                                          {"f32:5", 4},
                                                          {"f32[99999999999999999999]", 5},
                                                          {"f32[1099511627776,2]", 19},
                                                          {"f32[ 8]", 5},
                                                          {"who:5", 1},
                                                          {":5", 1}}) {
    CHECK(contains(spec_error(spec), "wrong at position " + std::to_string(position) + ":"));
  }
}

}  // namespace sr::test::tool_arguments_tests
