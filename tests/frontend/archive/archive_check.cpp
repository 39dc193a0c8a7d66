// A damaged archive is refused with a LoadError, or the damage changes nothing that a model computes.
#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <sr/frontend/archive/archive_check.hpp>

#include "support/catch.hpp"
#include "support/zip.hpp"

namespace sr::test::archive_check_tests {

namespace {

using sr::test::bytes_of;
using sr::test::checksum;
using sr::test::Entry;
using sr::test::put;
using sr::test::zip;

std::string saved(const torch::jit::Module& module) {
  std::ostringstream out;
  module.save(out);
  return out.str();
}

torch::jit::Module small_module() {
  torch::jit::Module module("Small");
  module.register_parameter("weight", torch::arange(4, torch::kFloat), false);
  module.define("def forward(self, x):\n    return x * self.weight + 1\n");
  return module;
}

// Has enough code to be compressed, two weights, and a submodule.
torch::jit::Module larger_module() {
  torch::jit::Module inner = small_module();
  torch::jit::Module module("Larger");
  module.register_module("inner", inner);
  module.register_buffer("scale", torch::full({4}, 0.5));
  std::string code = "def forward(self, x):\n";
  for (int i = 0; i < 20; ++i) code += "    x = torch.tanh(x * self.scale + " + std::to_string(i) + ")\n";
  module.define(code + "    return self.inner.forward(x)\n");
  return module;
}

// The sentence of the LoadError; empty if the archive is accepted.
std::string refusal(const std::string& archive) {
  try {
    sr::check_archive(bytes_of(archive), "model.pt");
  } catch (const sr::LoadError& error) {
    return error.what_without_backtrace();
  }
  return {};
}

bool mentions(const std::string& archive, std::string_view words) {
  const std::string sentence = refusal(archive);
  INFO(sentence);
  CHECK(sentence.find("model.pt") != std::string::npos);
  return sentence.find(words) != std::string::npos;
}

// What a caller can observe of a model: its result, and its attributes by name.
struct Behaviour {
  at::Tensor result;
  std::vector<std::pair<std::string, at::Tensor>> tensors;

  explicit Behaviour(const std::string& archive) {
    std::istringstream in(archive);
    torch::jit::Module module = torch::jit::load(in);
    for (const auto& item : module.named_parameters()) tensors.emplace_back(item.name, item.value);
    for (const auto& item : module.named_buffers()) tensors.emplace_back(item.name, item.value);
    result = module.forward({torch::arange(4, torch::kFloat)}).toTensor();
  }

  bool operator==(const Behaviour& other) const {
    return result.equal(other.result) &&
           std::ranges::equal(tensors, other.tensors, [](const auto& a, const auto& b) {
             return a.first == b.first && a.second.equal(b.second);
           });
  }
};

struct Tally {
  int refused = 0, harmless = 0;
};

void flip(const std::string& archive, std::size_t bit, const Behaviour& intact, Tally& tally) {
  std::string damaged = archive;
  damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
  if (!refusal(damaged).empty()) {
    ++tally.refused;
    return;
  }
  ++tally.harmless;
  if (!(Behaviour(damaged) == intact)) FAIL("bit " << bit % 8 << " of byte " << bit / 8 << " went unnoticed");
}

std::vector<Entry> module_entries() {
  return {{"m/data.pkl", "\x80\2]."}, {"m/constants.pkl", "\x80\2)."}, {"m/version", "3\n"}};
}

}  // namespace

TEST_CASE("crc32 is the checksum of zip, however the bytes are cut", "[load]") {
  CHECK(checksum("") == 0);
  CHECK(checksum("123456789") == 0xCBF43926);
  CHECK(checksum("The quick brown fox jumps over the lazy dog") == 0x414FA339);
  std::string text(1000, '\0');
  std::minstd_rand random(1);
  for (char& c : text) c = static_cast<char>(random());
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto part = bytes_of(text).first(size);
    const std::uint32_t by_tables = ~sr::detail::crc_by_tables(~0U, part.data(), part.size());
    REQUIRE(sr::crc32(part) == by_tables);
    REQUIRE(sr::crc32(part.subspan(size / 3), sr::crc32(part.first(size / 3))) == by_tables);
  }
}

TEST_CASE("an archive of torch.jit.save is accepted", "[load]") {
  CHECK(refusal(saved(small_module())).empty());
  const std::string archive = saved(larger_module());
  CHECK(refusal(archive).empty());
  const auto records = sr::check_zip(bytes_of(archive), "model.pt");
  CHECK(std::ranges::any_of(records, &sr::ZipRecord::deflated));
}

TEST_CASE("an archive of another zip tool is accepted", "[load]") {
  CHECK(refusal(zip(module_entries())).empty());
}

TEST_CASE("a truncated archive is rejected at every length", "[load]") {
  const std::string archive = saved(larger_module());
  for (std::size_t size = 0; size < archive.size(); ++size) {
    INFO(size);
    REQUIRE(!refusal(archive.substr(0, size)).empty());
    REQUIRE((size == 0 || !refusal(archive.substr(size)).empty()));
  }
  CHECK(mentions(archive.substr(0, archive.size() / 2), "cut short"));
  CHECK(mentions(archive + "more", "comment"));
}

TEST_CASE("every bit flip in a small archive is refused or harmless", "[load]") {
  const std::string archive = saved(small_module());
  const Behaviour intact(archive);
  Tally tally;
  for (std::size_t bit = 0; bit < archive.size() * 8; ++bit) flip(archive, bit, intact, tally);
  INFO(tally.refused << " flips refused, " << tally.harmless << " harmless");
  CHECK(tally.refused > tally.harmless);
}

TEST_CASE("bit flips in an archive with compressed records are refused or harmless", "[load]") {
  const std::string archive = saved(larger_module());
  const Behaviour intact(archive);
  std::mt19937 random(2026);
  std::uniform_int_distribution<std::size_t> bit(0, archive.size() * 8 - 1);
  Tally tally;
  for (int i = 0; i < 3000; ++i) flip(archive, bit(random), intact, tally);
  INFO(tally.refused << " flips refused, " << tally.harmless << " harmless");
  CHECK(tally.refused > tally.harmless);
}

TEST_CASE("garbage in an archive never passes the check and changes a result", "[load]") {
  const std::string archive = saved(larger_module());
  const Behaviour intact(archive);
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = archive;
    const std::size_t size = 1 + random() % 16, at = random() % (archive.size() - size);
    for (std::size_t k = 0; k < size; ++k)
      damaged[at + k] = static_cast<char>(random() % 3 == 0 ? 0xFF : random());
    if (refusal(damaged).empty()) REQUIRE(Behaviour(damaged) == intact);
  }
}

TEST_CASE("the error for another file names its kind", "[load]") {
  CHECK(mentions("", "is empty"));
  CHECK(mentions("\x89HDF\r\n\x1a\n", "an HDF5 file"));
  CHECK(mentions("GGUF\3", "a GGUF model"));
  CHECK(mentions(std::string("\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}", 27), "a safetensors file"));
  CHECK(mentions(std::string("\x08\x0a\x12\x07pytorch\x1a\x06"
                             "2.13.0",
                             19),
                 "an ONNX model"));
  CHECK(
      mentions(std::string("\x08\x07\x3a\x80\x01\x0a\x20\x0a\x01x\x0a\x01w\x12\x01y", 17), "an ONNX model"));
  CHECK(mentions(std::string("\x1c\0\0\0TFL3\0\0\0\0", 12), "TensorFlow Lite"));
  CHECK(mentions("<?xml version=\"1.0\"?>", "OpenVINO"));
  CHECK(
      mentions("\x7f"
               "ELF\x02\x01",
               "AOTInductor"));
  CHECK(mentions("\x80\x04K\x01.", "a plain pickle"));
  CHECK(mentions("import torch\n", "text that begins with 'import torch'"));
  CHECK(mentions("version https://git-lfs.github.com/spec/v1\n", "git lfs pull"));
  CHECK(mentions(std::string(100, '\0'), "zeros"));
  CHECK(mentions("PK\3\4 and no more", "cut short"));
  CHECK(mentions(zip({}), "without any records"));
  CHECK(mentions(zip({{"readme.txt", "hello"}}), "not one of PyTorch"));
}

TEST_CASE("an archive of torch.save is told apart from one of torch.jit.save", "[load]") {
  const std::vector<char> data = torch::jit::pickle_save(torch::ones({3}));
  CHECK(mentions(std::string(data.begin(), data.end()),
                 "torch.save, not by torch.export.save or torch.jit.save"));
  CHECK(mentions(zip({{"m/version", "3"}, {"m/models/model.json", "{}"}}), "torch.export.save"));
  CHECK(mentions(zip({{"m/archive_format", "pt2"}, {"m/data/aotinductor/model/a.so", ""}}),
                 "a package of AOTInductor"));
  CHECK(mentions(zip({{"m/version", "3"}, {"m/code/a.py", ""}, {"m/data.pkl", ""}}),
                 "no record 'm/constants.pkl'"));
}

TEST_CASE("a record with wrong sizes or checksum is rejected by name", "[load]") {
  const auto with = [](auto change) {
    std::vector<Entry> entries = module_entries();
    change(entries[1]);
    return zip(entries);
  };
  CHECK(mentions(with([](Entry& e) { e.crc ^= 1; }), "'m/constants.pkl' does not have the bytes"));
  CHECK(mentions(with([](Entry& e) { e.size = e.stored = 1U << 31; }), "more than the file holds"));
  CHECK(mentions(with([](Entry& e) { e.size += 1; }), "two different sizes"));
  CHECK(mentions(with([](Entry& e) { e.method = 12; }), "compressed by method 12"));
  CHECK(mentions(with([](Entry& e) { e.method = 8; }), "does not inflate"));
  CHECK(mentions(with([](Entry& e) { e.method = 8, e.size = 2'200'000'000; }), "more than deflate can do"));
  CHECK(mentions(with([](Entry& e) { e.size = e.stored = e.data.size() + 10; }), "overlaps"));
  CHECK(mentions(with([](Entry& e) { e.name = "m/version"; }), "occurs twice"));
  CHECK(mentions(with([](Entry& e) { e.name = "m/Version"; }), "occurs twice"));
  CHECK(mentions(with([](Entry& e) { e.name = ""; }), "no proper name"));
  CHECK(mentions(with([](Entry& e) { e.name = "m/code/"; }), "folder that has contents"));
}

TEST_CASE("a header that differs from the directory is refused", "[load]") {
  const std::string archive = zip(module_entries());
  const auto with = [&](std::size_t at, std::uint64_t value, unsigned width) {
    std::string damaged = archive;
    put(damaged, at, value, width);
    return damaged;
  };
  CHECK(mentions(with(30, 'x', 1), "another name"));
  CHECK(mentions(with(14, 0, 4), "another size or checksum"));
  CHECK(mentions(with(6, 8, 2), "other flags"));
  CHECK(mentions(with(0, 0, 1), "not a zip archive"));
  CHECK(mentions(with(archive.size() - 6, 0, 4), "does not end where"));
  CHECK(mentions(with(archive.size() - 10, 0xFFFFFFFF, 4), "does not end where"));
  CHECK(mentions(with(archive.size() - 18, 1, 2), "several disks"));
}

TEST_CASE("a zip bomb is refused before it is inflated", "[load]") {
  std::vector<Entry> entries = module_entries();
  const std::string data(300'000, '\0');  // no stream of deflate; the sizes alone give it away
  for (const char* name : {"m/a", "m/b"}) {
    entries.push_back({.name = name, .data = data, .size = 300'000'000, .method = 8});
  }
  CHECK(mentions(zip(entries), "zip bomb"));
}

}  // namespace sr::test::archive_check_tests
