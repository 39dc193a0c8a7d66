// The depth of pickles and code, which is bounded before LibTorch reads them.
#include <string>
#include <string_view>

#include <sr/frontend/archive/code_nesting.hpp>
#include <sr/frontend/archive/pickle_nesting.hpp>

#include "support/catch.hpp"

namespace sr::test::nesting_tests {

namespace {

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string problem(const std::string& pickle, std::uint32_t limit = 10) {
  return std::string(detail::PickleNesting(pickle).problem(limit));
}

std::size_t depth(const std::string& code) {
  return detail::CodeNesting(code).depth();
}

constexpr std::string_view kTooDeep = "nests values too deep";

}  // namespace

TEST_CASE("the depth of a pickle is that of its values", "[load]") {
  const std::string begin = "\x80\x02";
  CHECK(problem(begin + ")" + times(10, "\x85") + ".") == "");
  CHECK(problem(begin + ")" + times(11, "\x85") + ".") == kTooDeep);
  CHECK(problem(begin + times(11, "]") + times(10, "a") + ".") == "");
  CHECK(problem(begin + times(12, "]") + times(11, "a") + ".") == kTooDeep);
  CHECK(problem(begin + times(12, "}(K\x01") + "N" + times(12, "u") + ".") == kTooDeep);
  CHECK(problem(begin + times(12, "(") + times(12, "t") + ".") == kTooDeep);
  CHECK(problem(begin + times(12, "cm\nC\n") + ")" + times(12, "\x81") + ".") == kTooDeep);
  CHECK(problem(begin + times(12, "cm\nC\n") + ")" + times(12, "R") + ".") == kTooDeep);
  CHECK(problem(begin + times(12, "}") + times(11, "b") + ".") == kTooDeep);
  CHECK(problem(begin + ")" + times(11, "Q") + ".") == kTooDeep);
  // Many values beside each other are not deep.
  CHECK(problem(begin + "](" + times(1000, "K\x01") + "e" + ".") == "");
  CHECK(problem(begin + "]" + times(1000, "Na") + ".") == "");
  CHECK(problem(begin + "](" + times(1000, "X\x03" + std::string(3, '\0') + "(((") + "e.") == "");
}

TEST_CASE("a value that is recalled has the depth it has", "[load]") {
  const std::string begin = "\x80\x02";
  std::string twice = begin + ")";
  for (char key = 0; key < 12; ++key) twice += std::string("q") + key + "0h" + key + "\x85";
  CHECK(problem(twice + ".") == kTooDeep);
  // From the outside: each list is put into the one before, and filled afterwards.
  std::string inward = begin + "]q" + '\0';
  for (char key = 1; key < 12; ++key)
    inward += std::string("h") + static_cast<char>(key - 1) + "]q" + key + "a0";
  CHECK(problem(inward + "h" + '\0' + ".") == "changes a value that is a part of another one");
  CHECK(problem(begin + "]q" + '\0' + "h" + '\0' + "a.") != "");  // a list in itself
}

TEST_CASE("a pickle that can not be followed is a problem", "[load]") {
  CHECK(problem("") == "ends in the middle of a value");
  CHECK(problem("\x80") == "ends in the middle of a value");
  CHECK(problem("X\xff\xff\xff\xff") == "ends in the middle of a value");
  CHECK(problem("cmodule") == "ends in the middle of a value");
  CHECK(problem("a") == "takes more values than it has");
  CHECK(problem("(a") == "takes more values than it has");
  CHECK(problem("t") == "has an end of a list without a begin");
  CHECK(problem(std::string("h") + '\0') == "recalls a value it never had");
  CHECK(problem("i") == "has an instruction that TorchScript does not write");
}

TEST_CASE("the depth of code bounds that of its syntax tree", "[load]") {
  constexpr std::size_t n = 300;
  CHECK(depth("return " + times(n, "(") + "x") >= n);
  CHECK(depth("return " + times(n, "[(") + "x") >= 2 * n);
  CHECK(depth("return " + times(n, "-") + "x") >= n);
  CHECK(depth("return " + times(n, "not ") + "x") >= n);
  CHECK(depth("return x" + times(n, ".a")) >= n);
  CHECK(depth("return 1" + times(n, "+1")) >= n);
  CHECK(depth("return 1" + times(n, " if c else 1")) >= n);
  CHECK(depth("x = f(a, " + times(n, "f(x, ")) >= n);
  CHECK(depth("x = (1\n" + times(n, "+1\n")) >= n);
  CHECK(depth("x = 1" + times(n, "\\\n+1")) >= n);
  CHECK(depth(times(n, "elif x:\n  y\n")) >= n);
  std::string blocks, spaces;
  for (std::size_t i = 0; i < n; ++i, spaces += "  ") blocks += spaces + "if x:\n";
  CHECK(depth(blocks) >= n);
  CHECK(depth("x = \"\"\" \" \"\"\"" + times(n, "(")) >= n);
  CHECK(depth("x = '\\''" + times(n, "(")) >= n);
}

TEST_CASE("long code is not deep", "[load]") {
  constexpr std::size_t n = 1000;
  CHECK(depth("x = [" + times(n, "-1, ") + "2]\n") < 12);
  CHECK(depth(times(n, "x = f(x, [1, 2])\n")) < 12);
  CHECK(depth(times(n, "  if x:\n    y = 1\n  else:\n    y = 2\n")) < 12);
  CHECK(depth("x = \"" + times(n, "(") + "\"\n") < 12);
  CHECK(depth("x = '''" + times(n, "(\n") + "'''\n") < 12);
  CHECK(depth("# " + times(n, "(") + "\nx = 1\n") < 12);
  CHECK(depth("") == 0);
}

}  // namespace sr::test::nesting_tests
