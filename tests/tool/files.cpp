// Files of inputs: the number of sets, and the errors for files that hold none.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <sr/error.hpp>

#include "../src/tool/inputs/inputs.hpp"
#include "support/catch.hpp"
#include "support/tool.hpp"

namespace sr::test::tool_files_tests {

namespace {

namespace fs = std::filesystem;
using sr::tool::read_input_sets;
using sr::tool::write_values;

std::string load_error(const std::string& path) {
  try {
    read_input_sets(path);
  } catch (const sr::LoadError& error) {
    return error.what_without_backtrace();
  }
  FAIL("'" << path << "' was read without a LoadError");
  return {};
}

// An archive of torch.save with one tensor's bytes.
std::string archive_of(const std::string& pickle) {
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
}

}  // namespace

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

TEST_CASE("a file without inputs is rejected with a sentence", "[tool]") {
  const Folder folder;
  const std::string path = folder.file("in");
  CHECK(contains(load_error(path), "cannot be read: No such file"));
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

TEST_CASE("a deep pickle does not exhaust the stack", "[tool]") {
  const Folder folder;
  const auto error_of = [&](const std::string& pickle) {
    write(folder.file("deep"), archive_of("\x80\x02" + pickle + "."));
    return load_error(folder.file("deep"));
  };
  constexpr std::size_t n = 200'000;
  CHECK(contains(error_of(")" + std::string(n, '\x85')), "nests values too deep"));
  CHECK(contains(error_of(std::string(n, ']') + std::string(n - 1, 'a')), "nests values too deep"));
  std::string inward = "]";
  for (std::size_t i = 0; i < n; ++i) inward += std::string("q\0]q\1h\0h\1a0", 11) + "h" + '\1';
  CHECK(contains(error_of(inward), "change once they are parts of others"));
}

TEST_CASE("a damaged pickle is rejected or read", "[tool]") {
  const Folder folder;
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

}  // namespace sr::test::tool_files_tests
