// Inputs from Python and back: what torch.save wrote is read, what write_values wrote torch.load reads.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <sr/error.hpp>

#include "../src/tool/inputs.hpp"
#include "support/catch.hpp"

namespace {

namespace fs = std::filesystem;
using sr::tool::conform;
using sr::tool::random_argument;
using sr::tool::read_input_sets;
using sr::tool::write_values;

// A directory of its own, removed with what is in it.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("sr_tool_inputs_" + std::to_string(std::random_device{}()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Runs a script in `folder`; false, with a warning, if SR_PYTHON names no interpreter.
bool python(const Folder& folder, const std::string& script) {
  const char* interpreter = std::getenv("SR_PYTHON");
  if (interpreter == nullptr) {
    WARN("SR_PYTHON is not set: skipped what needs Python");
    return false;
  }
  write(folder.file("script.py"), "import collections, torch\n" + script);
  const std::string command =
      "cd '" + folder.path.string() + "' && '" + interpreter + "' -W ignore script.py > log 2>&1";
  const int status = std::system(command.c_str());
  INFO(read(folder.file("log")));
  REQUIRE(status == 0);
  return true;
}

std::string load_error(const std::string& path) {
  try {
    read_input_sets(path);
  } catch (const sr::LoadError& error) {
    return error.what_without_backtrace();
  }
  FAIL("'" << path << "' was read without a LoadError");
  return {};
}

std::string spec_error(std::string_view spec) {
  try {
    random_argument(spec, at::Generator());
  } catch (const sr::ArgumentError& error) {
    return error.what_without_backtrace();
  }
  FAIL("'" << spec << "' was accepted");
  return {};
}

bool contains(const std::string& text, std::string_view part) {
  INFO(text);
  CHECK(!text.empty());
  return text.find(part) != std::string::npos;
}

c10::IValue list(std::initializer_list<c10::IValue> items) {
  c10::impl::GenericList result(c10::AnyType::get());
  for (const c10::IValue& item : items) result.push_back(item);
  return result;
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

TEST_CASE("what can not be written for Python is named", "[tool]") {
  const Folder folder;
  CHECK_THROWS_AS(write_values(folder.file("out"), {torch::eye(2).to_sparse()}), sr::ArgumentError);
  CHECK_THROWS_AS(write_values(folder.file("out"), {torch::empty({2}, at::kMeta)}), sr::ArgumentError);
  CHECK_THROWS_AS(write_values(folder.file("missing/out"), {1}), sr::LoadError);
}

TEST_CASE("a list of lists is several input sets, any other list is one", "[tool]") {
  const Folder folder;
  const auto sets_of = [&](const std::vector<c10::IValue>& values) {
    write_values(folder.file("in"), values);
    return read_input_sets(folder.file("in"));
  };
  const at::Tensor x = torch::ones(2);
  CHECK(sets_of({x, 1}).size() == 1);
  CHECK(sets_of({list({x, 1}), list({x, 2}), list({})}).size() == 3);
  CHECK(sets_of({list({x, 1}), std::make_tuple(x, 2)}).at(1).at(1).toInt() == 2);
  for (const c10::IValue& other : {c10::IValue(x), c10::IValue(1), c10::IValue("s"), c10::IValue(),
                                   c10::IValue(c10::Dict<std::string, at::Tensor>())}) {
    const auto sets = sets_of({list({x}), other});
    REQUIRE(sets.size() == 1);
    CHECK(sets[0].size() == 2);
  }
  REQUIRE(sets_of({}).size() == 1);
  CHECK(sets_of({})[0].empty());
}

TEST_CASE("files of LibTorch's own pickle_save are read, with their types", "[tool]") {
  const Folder folder;
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("k", torch::eye(2));
  const std::vector<char> bytes =
      torch::jit::pickle_save(list({c10::List<at::Tensor>({torch::ones(2)}), c10::List<std::int64_t>({1}),
                                    c10::List<double>({1.5}), dict}));
  write(folder.file("in"), {bytes.data(), bytes.size()});
  const auto values = read_input_sets(folder.file("in")).at(0);
  REQUIRE(values.size() == 4);
  CHECK(values[0].isTensorList());
  CHECK(values[1].isIntList());
  CHECK(values[2].isDoubleList());
  CHECK(values[3].toGenericDict().valueType()->kind() == c10::TypeKind::TensorType);
}

TEST_CASE("a file that holds no inputs is refused in a sentence", "[tool]") {
  const Folder folder;
  const std::string path = folder.file("in");
  CHECK(contains(load_error(path), "can not be read: No such file"));
  CHECK(contains(load_error(folder.path.string()), "is a directory"));
  write(path, "");
  CHECK(contains(load_error(path), "is empty"));
  write(path, "1, 2, 3\n");
  CHECK(contains(load_error(path), "text that begins with '1, 2, 3'"));
  torch::jit::Module("M").save(path);
  CHECK(contains(load_error(path), "it is a TorchScript module"));
  const std::vector<char> tensor = torch::jit::pickle_save(torch::ones(2));
  write(path, {tensor.data(), tensor.size()});
  CHECK(contains(load_error(path), "a value of type Tensor, but the arguments of a call are a list"));
  if (python(folder, R"(
torch.save([b'bytes'], 'bytes'); torch.save([2**70], 'big'); torch.save([{1, 2}], 'set')
torch.save([torch.eye(2).to_sparse()], 'sparse'); torch.save([torch.nn.Linear], 'class')
loop = []; loop.append(loop); torch.save(loop, 'loop')
torch.save([torch.ones(2)], 'old', _use_new_zipfile_serialization=False)
)")) {
    CHECK(contains(load_error(folder.file("bytes")), "_codecs.encode"));
    CHECK(contains(load_error(folder.file("big")), "more than 64 bits"));
    CHECK(contains(load_error(folder.file("set")), "set"));
    CHECK(contains(load_error(folder.file("sparse")), "sparse"));
    CHECK(contains(load_error(folder.file("class")), "class"));
    CHECK(contains(load_error(folder.file("loop")), "contain themselves"));
    CHECK(contains(load_error(folder.file("old")), "before PyTorch 1.6"));
  }
}

TEST_CASE("a damaged pickle is refused or read, never a crash", "[tool]") {
  const Folder folder;
  const auto archive_of = [](const std::string& pickle) {
    std::string archive;
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, std::size_t size) {
      archive.append(static_cast<const char*>(bytes), size);
      return size;
    });
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    const std::vector<float> data(6);
    writer.writeRecord("data/0", data.data(), sizeof(float) * data.size());
    writer.writeEndOfFile();
    return archive;
  };
  using namespace std::string_literals;
  const std::string intact =
      "\x80\x02](ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
      "X\1\0\0\0"
      "0X\3\0\0\0cpuK\6tQK\0K\2K\3\x86K\3K\1\x86\x89}tR}X\1\0\0\0kG\0\0\0\0\0\0\0\0s\x8a\1\xff"
      "e."s;
  write(folder.file("in"), archive_of(intact));
  const auto values = read_input_sets(folder.file("in")).at(0);
  REQUIRE(values.size() == 3);
  CHECK(values[0].toTensor().sizes() == at::IntArrayRef({2, 3}));
  CHECK(values[2].toInt() == -1);
  int read = 0, refused = 0;
  for (std::size_t at = 0; at < intact.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = intact;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      write(folder.file("in"), archive_of(damaged));
      try {
        read_input_sets(folder.file("in"));
        ++read;
      } catch (const sr::LoadError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > read);
}

TEST_CASE("conform gives generic values the types declared", "[tool]") {
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

TEST_CASE("conform leaves a value that does not fit", "[tool]") {
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
