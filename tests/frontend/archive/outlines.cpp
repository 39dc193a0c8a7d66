// What is known of pickles and code before LibTorch reads them.
#include <string>
#include <string_view>
#include <vector>

#include <sr/frontend/archive/code_outline.hpp>
#include <sr/frontend/archive/pickle_outline.hpp>

#include "support/catch.hpp"

namespace sr::test::outline_tests {

namespace {

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string problem(const std::string& pickle, std::uint32_t limit = 10) {
  return std::string(detail::PickleOutline(pickle).problem(limit, detail::PickleOutline::kMaxTuples));
}

std::size_t depth(const std::string& code) {
  return detail::CodeOutline(code).depth();
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
  // Many values beside each other are not deep.
  CHECK(problem(begin + "](" + times(1000, "K\x01") + "e" + ".") == "");
  CHECK(problem(begin + "]" + times(1000, "Na") + ".") == "");
  CHECK(problem(begin + "](" + times(1000, "X\x03" + std::string(3, '\0') + "(((") + "e.") == "");
}

TEST_CASE("tuples in tuples are counted", "[load]") {
  const std::string_view too_deep = "nests tuples more than 16 deep";
  CHECK(problem("K\x01" + times(16, "\x85") + ".", 100) == "");
  CHECK(problem("K\x01" + times(17, "\x85") + ".", 100) == too_deep);
  CHECK(problem(times(17, "(") + times(17, "t") + ".", 100) == too_deep);
  CHECK(problem("K\x01" + times(17, "K\x01\x86") + ".", 100) == too_deep);
  CHECK(problem("K\x01" + times(17, "K\x01K\x01\x87") + ".", 100) == too_deep);
  // A list or an object between two tuples ends the chain: the next tuple is counted from one again.
  CHECK(problem(times(16, "](") + "K\x01" + times(16, "ta") + ".", 100) == "");
  CHECK(problem(times(17, "cm\nC\n") + "K\x01" + times(17, "\x85R") + ".", 100) == "");

  const auto depth_of = [](const std::string& code) { return detail::CodeOutline(code).tuple_depth(); };
  CHECK(depth_of("x : int\n") == 0);
  CHECK(depth_of("x : Tuple[int, int]\ny : Tuple[int]\n") == 1);
  CHECK(depth_of("x : " + times(17, "Tuple[int, ") + "int" + times(17, "]") + "\n") == 17);
  CHECK(depth_of("x : " + times(17, "Tuple[List[") + "int" + times(17, "]]") + "\n") == 1);
  CHECK(depth_of("x : " + times(17, "Tuple [") + "int" + times(17, "]") + "\n") == 17);
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

TEST_CASE("a pickle that cannot be followed is a problem", "[load]") {
  CHECK(problem("") == "ends in the middle of a value");
  CHECK(problem("\x80") == "ends in the middle of a value");
  CHECK(problem("X\xff\xff\xff\xff") == "ends in the middle of a value");
  CHECK(problem("cmodule") == "ends in the middle of a value");
  CHECK(problem("a") == "takes more values than it has");
  CHECK(problem("(a") == "takes more values than it has");
  CHECK(problem("t") == "has an end of a list without a begin");
  CHECK(problem(std::string("h") + '\0') == "recalls a value it never had");
  CHECK(problem("]r\x01" + std::string(3, '\0') + ".") == "numbers a value out of turn");
  CHECK(problem("]q" + std::string(1, '\0') + "q\x01q" + std::string(1, '\0') + ".").empty());
  CHECK(problem("i") == "has an instruction that TorchScript does not write");
}

TEST_CASE("a pickle's storages are known", "[load]") {
  using Storage = detail::PickleOutline::Storage;
  const auto named = [](const std::string& tuple) {
    const std::string pickle = "\x80\x02" + tuple + "Q.";
    detail::PickleOutline outline(pickle);
    const std::string problem(outline.problem(10));
    std::vector<std::string> found{problem};
    for (const Storage& storage : outline.storages())
      found.push_back(std::string(storage.type) + ' ' + std::string(storage.record) + ' ' +
                      std::to_string(storage.count));
    return found;
  };
  using Found = std::vector<std::string>;
  const std::string begin =
      "(U\x07storagectorch\nFloatStorage\nU\x02"
      "12U\x03"
      "cpu";
  CHECK(named(begin + "K\x05t") == Found{"", "FloatStorage 12 5"});
  CHECK(named(begin + "K\x05Nt") == Found{"", "FloatStorage 12 5"});  // of a view, in a file of torch.save
  CHECK(named(begin + "M\x01\x02t") == Found{"", "FloatStorage 12 513"});
  CHECK(named(begin + "J\xff\xff\xff\xfft") == Found{"", "FloatStorage 12 -1"});
  CHECK(named(begin + "\x8a\x05" + std::string(4, '\0') + "\x01t") ==
        Found{"", "FloatStorage 12 4294967296"});
  CHECK(named(begin + "\x8a\x02\xfe\xfft") == Found{"", "FloatStorage 12 -2"});
  const Found unknown{"asks for a storage without saying its class, record and size"};
  CHECK(named(begin + "\x8a\x09" + std::string(9, '\0') + "t") == unknown);
  CHECK(named(begin + "t") == unknown);
  CHECK(named("N") == unknown);
  CHECK(named("(U\x07storageK\x06U\x01"
              "0U\x03"
              "cpuK\x05t") == unknown);
}

TEST_CASE("enumerations without values are known", "[load]") {
  const auto have_values = [](const std::string& code) {
    return detail::CodeOutline(code).enumerations_have_values();
  };
  CHECK(have_values("class Kind(Enum):\n  A = 1\n  B = \"x\"\ndef f(x):\n  pass\n"));
  CHECK(have_values("class Other(Module):\n  a : int\n"));
  CHECK(have_values("class Kind(Enum):\n  A = f(\n    1)\n\n  B = 2\n"));
  CHECK_FALSE(have_values("class Kind(Enum):\n  A : str\n"));
  CHECK_FALSE(have_values("class Kind(Enum):\n  A = 1\n  A\n"));
  CHECK_FALSE(have_values("class Kind( Enum ) :\n  A : f(x=1)\n"));
  CHECK_FALSE(have_values("class \\\nKind(\nEnum):\n  A == 1\n"));
}

TEST_CASE("empty brackets behind a value are known", "[load]") {
  const auto is_empty = [](const std::string& code) {
    return detail::CodeOutline(code).has_empty_subscript();
  };
  CHECK(is_empty("def f(x: Optional[]) -> int:\n  return 1\n"));
  CHECK(is_empty("y = x[ ]\n"));
  CHECK(is_empty("y = x \\\n [\n]\n"));
  CHECK(is_empty("y = f(x)[]\n"));
  CHECK(is_empty("y = x[0][]\n"));
  CHECK_FALSE(is_empty("y = []\nfor i in []:\n  return []\n"));
  CHECK_FALSE(is_empty("y = annotate(List[int], [])\nz = x if a else []\n"));
  CHECK_FALSE(is_empty("y = x\n[]\nz = \"x[]\"  # x[]\n"));
  CHECK_FALSE(is_empty("y = f([], [[]], {}, [x[0]])\n"));
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

}  // namespace sr::test::outline_tests
