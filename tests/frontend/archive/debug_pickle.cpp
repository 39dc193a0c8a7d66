// The user's lines of Python, from the records that torch.jit.save writes for messages.
#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <torch/script.h>

#include <sr/frontend/archive/archive_check.hpp>
#include <sr/frontend/archive/debug_pickle.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test::debug_pickle_tests {

namespace {

std::string saved() {
  torch::jit::Module module("Model");
  module.define(
      "def helper(self, x, i: int):\n"
      "    return x[i]\n"
      "def forward(self, x, i: int):\n"
      "    y = x * 2\n"
      "    if i > 0:\n"
      "        y = self.helper(y, i)\n"
      "    return y + torch.ones([3])\n");
  std::ostringstream out;
  module.save(out);
  return out.str();
}

// The record with the debug information of forward.
std::string debug_record(const std::string& archive) {
  std::string inflated;
  for (const ZipRecord& record : check_zip(std::as_bytes(std::span(archive)), "archive")) {
    if (record.name.ends_with(".debug_pkl")) return std::string(detail::bytes_of(record, inflated));
  }
  return {};
}

}  // namespace

TEST_CASE("errors of a loaded module name the user's lines", "[load]") {
  std::istringstream in(saved());
  StaticRuntime<> runtime{load(in)};
  std::string message;
  try {
    runtime(at::ones({2, 3}), 7);
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
  }
  CAPTURE(message);
  CHECK(message.find("while sr ran aten::select.int (<string>:2)") != std::string::npos);
}

TEST_CASE("places in the code of an archive are places in the user's", "[load]") {
  const std::string pickle = debug_record(saved());
  REQUIRE(!pickle.empty());
  const auto all = detail::DebugPickle(pickle).read();
  REQUIRE(all);
  CHECK((*all)[0].text == "FORMAT_WITH_STRING_TABLE");
  CHECK((*all)[2].items->size() > 5);
  CHECK((*all)[9].number == -1);
  const detail::SourceMap map(pickle);
  CHECK(!map.find(0));  // code that LibTorch adds
  std::vector<std::size_t> lines;
  for (std::size_t at = 0; at < 600; ++at) {
    const auto found = map.find(at);
    if (!found) continue;
    const auto line = found->file_line_col();
    REQUIRE(line);
    CHECK(std::get<0>(*line) == "<string>");
    lines.push_back(std::get<1>(*line));
  }
  CHECK(lines.size() > 100);
  CHECK(std::ranges::max(lines) < 10);
}

TEST_CASE("damaged debug records are ignored", "[load]") {
  const std::string pickle = debug_record(saved());
  for (std::size_t length = 0; length < pickle.size(); ++length) {
    const std::string cut = pickle.substr(0, length);
    CHECK(!detail::DebugPickle(cut).read());
  }
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = pickle;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const detail::SourceMap map(damaged);
    for (std::size_t at = 0; at < 400; at += 37) {
      if (const auto found = map.find(at)) found->file_line_col();
    }
  }
  std::string deep = "\x80\x02(";
  for (int i = 0; i < 100'000; ++i) deep += "\x85";
  CHECK(!detail::DebugPickle(deep + ".").read());
  CHECK(!detail::DebugPickle(std::string("]q\0h\0a.", 7)).read());  // a list that contains itself
}

}  // namespace sr::test::debug_pickle_tests
