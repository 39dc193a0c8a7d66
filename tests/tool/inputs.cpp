// Inputs to and from Python: reads what torch.save wrote, and torch.load reads what write_values wrote.
#include "../src/tool/inputs/inputs.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/error.hpp>

#include "support/catch.hpp"
#include "support/tool.hpp"

namespace sr::test::tool_inputs_tests {

using sr::tool::conform;
using sr::tool::read_input_sets;
using sr::tool::write_values;

TEST_CASE("inputs saved by Python are read", "[tool]") {
  const Folder folder;
  if (!python(folder, R"(
a = torch.arange(12.).reshape(3, 4)
torch.save([a.t(), a[:, 1:3], a[1], a.as_strided((3, 3), (0, 1)), torch.tensor(2.5), torch.zeros(0, 3)], 'views')
torch.save([1, -2, 2**40, -2**62, 2**63 - 1, -2**63, 70000, 2.5, True, None, 'ä', float('inf')], 'scalars')
torch.save(([1, [2, 'x']], (a, 3), {'a': a, 'b': 1}, {1: 2}, collections.OrderedDict(k=a), a), 'nested')
torch.save([torch.nn.Parameter(a), a.clone().requires_grad_(), a.to(torch.complex64).conj(), torch.float64,
            a.shape, 1 + 2j, torch.device('cpu')], 'odd')
torch.save([torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)], 'channels_last')
)")) {
    return;
  }
  const at::Tensor a = torch::arange(12, at::kFloat).reshape({3, 4});

  const auto views = read_input_sets(folder.file("views"));
  REQUIRE(views.size() == 1);
  REQUIRE(views[0].size() == 6);
  const at::Tensor transposed = views[0][0].toTensor();
  CHECK(transposed.equal(a.t()));
  CHECK(transposed.strides() == a.t().strides());
  CHECK(views[0][1].toTensor().equal(a.slice(1, 1, 3)));
  CHECK(views[0][1].toTensor().storage_offset() == 1);
  CHECK(views[0][2].toTensor().equal(a[1]));
  CHECK(views[0][2].toTensor().is_alias_of(transposed));
  CHECK(views[0][3].toTensor().strides() == at::IntArrayRef({0, 1}));
  CHECK(views[0][4].toTensor().item<double>() == 2.5);
  CHECK(views[0][5].toTensor().sizes() == at::IntArrayRef({0, 3}));

  const auto scalars = read_input_sets(folder.file("scalars")).at(0);
  CHECK(scalars.at(0).toInt() == 1);
  CHECK(scalars.at(1).toInt() == -2);
  CHECK(scalars.at(2).toInt() == std::int64_t{1} << 40);
  CHECK(scalars.at(3).toInt() == -(std::int64_t{1} << 62));
  CHECK(scalars.at(4).toInt() == std::numeric_limits<std::int64_t>::max());
  CHECK(scalars.at(5).toInt() == std::numeric_limits<std::int64_t>::min());
  CHECK(scalars.at(6).toInt() == 70000);
  CHECK(scalars.at(7).toDouble() == 2.5);
  CHECK(scalars.at(8).toBool());
  CHECK(scalars.at(9).isNone());
  CHECK(scalars.at(10).toStringRef() == "ä");
  CHECK(scalars.at(11).toDouble() == std::numeric_limits<double>::infinity());

  const auto nested = read_input_sets(folder.file("nested")).at(0);
  REQUIRE(nested.size() == 6);
  CHECK(nested[0].toListRef()[1].toListRef()[1].toStringRef() == "x");
  CHECK(nested[1].toTupleRef().elements()[1].toInt() == 3);
  CHECK(nested[2].toGenericDict().at("a").toTensor().equal(a));
  CHECK(nested[3].toGenericDict().at(std::int64_t{1}).toInt() == 2);
  CHECK(nested[4].toGenericDict().at("k").toTensor().is_alias_of(nested[5].toTensor()));

  const auto odd = read_input_sets(folder.file("odd")).at(0);
  CHECK(odd.at(0).toTensor().requires_grad());
  CHECK(odd.at(1).toTensor().requires_grad());
  CHECK(odd.at(2).toTensor().is_conj());
  CHECK(odd.at(3).toInt() == static_cast<std::int64_t>(at::kDouble));
  CHECK(odd.at(4).toTupleRef().size() == 2);
  CHECK(odd.at(5).toComplexDouble() == c10::complex<double>(1, 2));
  CHECK(odd.at(6).toDevice().is_cpu());
  CHECK(read_input_sets(folder.file("channels_last"))
            .at(0)
            .at(0)
            .toTensor()
            .is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_CASE("tensors of every dtype come from Python and go back", "[tool]") {
  const Folder folder;
  if (!python(folder, R"(
names = ['float16', 'bfloat16', 'float32', 'float64', 'int8', 'uint8', 'int16', 'int32', 'int64', 'bool', 'complex32',
         'complex64', 'complex128', 'uint16', 'uint32', 'uint64', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz',
         'float8_e5m2fnuz', 'float8_e8m0fnu']
torch.save([torch.tensor([1., 2., 4.]).to(getattr(torch, name)) for name in names], 'in')
)")) {
    return;
  }
  const auto tensors = read_input_sets(folder.file("in")).at(0);
  REQUIRE(tensors.size() == 21);
  for (const c10::IValue& tensor : tensors) {
    INFO(tensor.toTensor().dtype());
    const at::Tensor expected = torch::tensor({1.0, 2.0, 4.0}).to(tensor.toTensor().scalar_type());
    CHECK(tensor.toTensor().to(at::kComplexDouble).equal(expected.to(at::kComplexDouble)));
  }
  write_values(folder.file("out"), tensors);
  CHECK(python(folder, R"(
before, after = torch.load('in', weights_only=True), torch.load('out', weights_only=True)
assert len(before) == len(after) == 21
for a, b in zip(before, after):
    assert a.dtype == b.dtype and a.to(torch.complex128).equal(b.to(torch.complex128)), (a, b)
)"));
}

TEST_CASE("values written are read by torch.load", "[tool]") {
  const Folder folder;
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("k", torch::eye(2));
  c10::List<at::Tensor> tensors({torch::zeros(1)});
  const at::Tensor transposed = torch::arange(6).reshape({2, 3}).t();
  const std::vector<c10::IValue> values{transposed,
                                        c10::IValue(tensors),
                                        c10::IValue(dict),
                                        std::make_tuple(torch::ones(1), std::int64_t{2}),
                                        c10::List<std::int64_t>({1, std::int64_t{1} << 40, -3}),
                                        c10::List<double>({0.5}),
                                        c10::List<bool>({true, false}),
                                        "ä",
                                        c10::IValue(),
                                        -0.25,
                                        true,
                                        c10::complex<double>(1, 2),
                                        torch::zeros({0, 3}),
                                        torch::arange(100).slice(0, 3, 5),
                                        at::Tensor(),
                                        c10::Device(at::kCPU)};
  write_values(folder.file("out"), values);
  python(folder, R"(
for weights_only in (False, True):
    o = torch.load('out', weights_only=weights_only)
    assert type(o) is list and len(o) == 16
    assert o[0].equal(torch.arange(6).reshape(2, 3).t()) and o[0].stride() == (1, 3)
    assert type(o[1]) is list and o[1][0].equal(torch.zeros(1))
    assert type(o[2]) is dict and o[2]['k'].equal(torch.eye(2))
    assert type(o[3]) is tuple and o[3][0].equal(torch.ones(1)) and o[3][1] == 2
    assert o[4:12] == [[1, 2**40, -3], [0.5], [True, False], 'ä', None, -0.25, True, 1 + 2j]
    assert o[12].shape == (0, 3) and o[13].tolist() == [3, 4] and o[13].untyped_storage().nbytes() == 16
    assert o[14] is None and o[15] == torch.device('cpu')
)");
  const auto back = read_input_sets(folder.file("out")).at(0);
  REQUIRE(back.size() == values.size());
  CHECK(back[0].toTensor().equal(transposed));
  CHECK(back[0].toTensor().strides() == transposed.strides());
  CHECK(conform(back[1], c10::ListType::ofTensors()).isTensorList());
  CHECK(back[4].toListRef()[1].toInt() == std::int64_t{1} << 40);
  CHECK(back[11].toComplexDouble() == values[11].toComplexDouble());
}

TEST_CASE("a value that cannot be written for Python is named", "[tool]") {
  const Folder folder;
  CHECK_THROWS_AS(write_values(folder.file("out"), {torch::eye(2).to_sparse()}), sr::ArgumentError);
  CHECK_THROWS_AS(write_values(folder.file("out"), {torch::empty({2}, at::kMeta)}), sr::ArgumentError);
  CHECK_THROWS_AS(write_values(folder.file("missing/out"), {1}), sr::LoadError);
}

}  // namespace sr::test::tool_inputs_tests
