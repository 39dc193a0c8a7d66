// Strings, lists and dictionaries of TorchScript against the interpreter.
#include <limits>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_language_tests {

namespace {

using Complex = c10::complex<double>;
using Ints = c10::List<std::int64_t>;
using Floats = c10::List<double>;
using Bools = c10::List<bool>;
using Strings = c10::List<std::string>;
using Tensors = c10::List<at::Tensor>;

const OracleOptions kNative{.rounds = 2, .expected_path = "native"};
const c10::IValue kNone;

template <class T>
c10::List<T> list(std::initializer_list<T> elements) {
  return c10::List<T>(elements);
}

std::vector<InputSet> strings() {
  return {{"abc", "abd"}, {"", "a"}, {"same", "same"}, {"b", "a"}, {"\xc3\xa4", "z"}};
}
std::vector<InputSet> string_and_index() {
  return {{"abc", 0}, {"abc", -1}, {"abc", 2}, {"abc", 3}, {"abc", -4}, {"", 0}};
}
// Slices with steps, also negative ones, and with bounds out of range.
std::vector<InputSet> cuts(const c10::IValue& value) {
  return {{value, kNone, kNone, 1}, {value, 1, kNone, 1},     {value, kNone, -1, 1},
          {value, -2, 9, 1},        {value, kNone, kNone, 2}, {value, kNone, kNone, -1},
          {value, 2, 0, -1},        {value, 3, 1, 1},         {value, kNone, kNone, 0}};
}
std::vector<InputSet> splits() {
  const std::string text = "a b  c\td";
  return {{text, kNone, -1},
          {text, " ", -1},
          {text, " ", 1},
          {text, " ", 0},
          {text, "", -1},
          {"a--b--", "--", -1},
          {"", "x", -1},
          {"", kNone, -1},
          {"  a ", kNone, 1},
          {"a\x85"
           "b",
           kNone, -1}};
}
std::vector<InputSet> substrings() {
  return {{"banana", "an", 0, -1}, {"banana", "an", 2, -1}, {"banana", "an", -3, -1}, {"banana", "x", 0, -1},
          {"banana", "an", 3, 2},  {"banana", "", 0, -1},   {"banana", "na", 0, -2},  {"a", "a", 5, 9}};
}
std::vector<InputSet> two_ints() {
  return {{list<std::int64_t>({1, 2}), list<std::int64_t>({1, 2})},
          {list<std::int64_t>({1, 2}), list<std::int64_t>({2, 1})},
          {Ints(), list<std::int64_t>({1})},
          {Ints(), Ints()}};
}
std::vector<InputSet> two_floats() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Floats same = list<double>({nan});
  return {{list<double>({1, 2.5}), list<double>({1, 2.5})},
          {list<double>({nan}), list<double>({nan})},
          {same, same},
          {Floats(), list<double>({1})}};
}
std::vector<InputSet> two_bools() {
  return {{list<bool>({true}), list<bool>({true})}, {list<bool>({true}), list<bool>({false, true})}};
}
std::vector<InputSet> two_string_lists() {
  return {{list<std::string>({"a"}), list<std::string>({"a"})}, {list<std::string>({"a"}), Strings()}};
}
std::vector<InputSet> two_tensor_lists() {
  const at::Tensor a = at::ones({1}), b = at::zeros({1}), many = at::ones({2});
  return {{Tensors({a, b}), Tensors({a.clone(), b.clone()})},
          {Tensors({a}), Tensors({b})},
          {Tensors({a}), Tensors({a, b})},
          {Tensors({many}), Tensors({many})}};
}
std::vector<InputSet> ints_and_int() {
  return {{list<std::int64_t>({4, 5, 4}), 4},
          {list<std::int64_t>({4, 5}), 5},
          {list<std::int64_t>({4}), 7},
          {Ints(), 0}};
}
std::vector<InputSet> floats_and_float() {
  return {
      {list<double>({0.5, 2}), 2.0},
      {list<double>({0.5}), 0.25},
      {list<double>({std::numeric_limits<double>::quiet_NaN()}), std::numeric_limits<double>::quiet_NaN()}};
}
std::vector<InputSet> bools_and_bool() {
  return {{list<bool>({false, true}), true}, {list<bool>({false}), true}};
}
std::vector<InputSet> strings_and_string() {
  return {{list<std::string>({"x", "y"}), "y"}, {list<std::string>({"x"}), "y"}};
}
std::vector<InputSet> tensors_and_tensor() {
  return {{Tensors({at::zeros({1}), at::ones({1})}), at::ones({1})},
          {Tensors({at::zeros({1})}), at::ones({1})},
          {Tensors({at::ones({2})}), at::ones({2})}};
}
std::vector<InputSet> ints_and_index() {
  const Ints numbers = list<std::int64_t>({4, 5, 6});
  return {{numbers, 0}, {numbers, -1}, {numbers, 2}, {numbers, 3}, {numbers, -4}, {Ints(), 0}};
}
std::vector<InputSet> tensors_and_index() {
  const Tensors tensors({at::ones({2}), at::zeros({3})});
  return {{tensors, 0}, {tensors, -1}, {tensors, 5}, {tensors, 0}};
}
std::vector<InputSet> ints_and_times() {
  return {{list<std::int64_t>({1, 2}), 3},
          {list<std::int64_t>({1, 2}), 0},
          {Ints(), 4},
          {list<std::int64_t>({1}), -1}};
}
std::vector<InputSet> ranges() {
  return {{0, 4, 1}, {4, 0, 1}, {4, -1, -2}, {0, 5, 2}, {0, 0, 1}, {1, 4, 0}};
}

// One dictionary for each type of key; looks up present and missing keys.
struct Keys {
  const char* type;
  c10::TypePtr key_type;
  c10::IValue known, unknown;
};
const std::vector<Keys>& key_types() {
  static const at::Tensor key = at::ones({1});
  static const std::vector<Keys> all = {{"str", c10::StringType::get(), "k", "none"},
                                        {"int", c10::IntType::get(), 3, 4},
                                        {"bool", c10::BoolType::get(), true, false},
                                        {"float", c10::FloatType::get(), 0.5, 2.5},
                                        {"complex", c10::ComplexType::get(), Complex(1, 2), Complex(0, 1)}};
  return all;
}
template <int Index>
std::vector<InputSet> dictionary() {
  const Keys& keys = key_types()[Index];
  c10::impl::GenericDict dict(keys.key_type, c10::IntType::get());
  c10::impl::GenericDict empty(keys.key_type, c10::IntType::get());
  dict.insert(keys.known, 7);
  return {{dict, keys.known}, {dict, keys.unknown}, {empty, keys.known}, {dict, keys.known}};
}

}  // namespace

std::vector<OpRow> language_rows() {
  std::vector<OpRow> rows;
  const auto add = [&](const std::string& key, const std::string& parameters, const std::string& expression,
                       std::vector<InputSet> (*runs)()) {
    rows.push_back({key, parameters, expression, runs, kNative, 0});
  };
  for (const auto& [name, sign] : std::vector<std::pair<std::string, std::string>>{
           {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}, {"add", "+"}}) {
    add("aten::" + name + ".str", "a: str, b: str", "a " + sign + " b", &strings);
  }
  add("aten::len.str", "a: str, b: str", "len(a)", &strings);
  add("aten::list", "a: str, b: str", "list(a)", &strings);
  add("aten::__getitem__.str", "a: str, i: int", "a[i]", &string_and_index);
  add("aten::slice.str", "a: str, i: Optional[int], j: Optional[int], k: int", "a[i:j:k]",
      [] { return cuts("hello"); });
  add("aten::split.str", "a: str, s: Optional[str], n: int", "a.split(s, n)", &splits);
  add("aten::index.str", "a: str, b: str, i: int, j: int", "a.index(b, i, j)", &substrings);
  add("aten::str", "a: List[int], b: int", "str(a)", &ints_and_int);
  for (const std::string format : {"'{} {}'", "'{}'", "'{} {} {}'", "'none'", "'{{} }'"})
    add("aten::format", "a: str, b: int", format + ".format(a, b)", &string_and_index);

  for (const auto& [name, sign] :
       std::vector<std::pair<std::string, std::string>>{{"eq", "=="}, {"ne", "!="}}) {
    add("aten::" + name + ".int_list", "a: List[int], b: List[int]", "a " + sign + " b", &two_ints);
    add("aten::" + name + ".float_list", "a: List[float], b: List[float]", "a " + sign + " b", &two_floats);
    add("aten::" + name + ".bool_list", "a: List[bool], b: List[bool]", "a " + sign + " b", &two_bools);
    add("aten::" + name + ".str_list", "a: List[str], b: List[str]", "a " + sign + " b", &two_string_lists);
    add("aten::" + name + ".Tensor_list", "a: List[Tensor], b: List[Tensor]", "a " + sign + " b",
        &two_tensor_lists);
    add("aten::" + name + ".device", "a: Device, b: Device", "a " + sign + " b", [] {
      return std::vector<InputSet>{{at::Device("cpu"), at::Device("cpu")},
                                   {at::Device("cpu"), at::Device("meta")}};
    });
    add("aten::" + name + ".bool", "a: bool, b: bool", "a " + sign + " b", [] {
      return std::vector<InputSet>{{true, true}, {true, false}, {false, true}};
    });
  }
  for (const std::string name : {"__and__", "__or__"}) {
    add("aten::" + name + ".bool", "a: bool, b: bool", "torch." + name + "(a, b)", [] {
      return std::vector<InputSet>{{true, true}, {true, false}, {false, true}, {false, false}};
    });
  }
  add("aten::__getitem__.t", "a: List[int], i: int", "a[i]", &ints_and_index);
  add("aten::__getitem__.t", "a: List[Tensor], i: int", "a[i] + 1", &tensors_and_index);
  add("aten::select.t", "a: List[int], i: int", "torch.select(a, i)", &ints_and_index);
  add("aten::slice.t", "a: List[int], i: Optional[int], j: Optional[int], k: int", "a[i:j:k]", [] {
    return cuts(list<std::int64_t>({1, 2, 3, 4, 5}));
  });
  add("aten::list.t", "a: List[int], i: int", "list(a)", &ints_and_int);
  add("aten::copy.t", "a: List[int], i: int", "a.copy()", &ints_and_int);
  add("aten::add.t", "a: List[int], b: List[int]", "a + b", &two_ints);
  add("aten::add.t", "a: List[Tensor], b: List[Tensor]", "a + b", &two_tensor_lists);
  add("aten::mul.left_t", "a: List[int], n: int", "a * n", &ints_and_times);
  add("aten::mul.right_", "a: List[int], n: int", "n * a", &ints_and_times);
  add("aten::index.list_int", "a: List[int], b: int", "a.index(b)", &ints_and_int);
  add("aten::index.list_float", "a: List[float], b: float", "a.index(b)", &floats_and_float);
  add("aten::index.list_bool", "a: List[bool], b: bool", "a.index(b)", &bools_and_bool);
  add("aten::index.list_str", "a: List[str], b: str", "a.index(b)", &strings_and_string);
  add("aten::index.list_Tensor", "a: List[Tensor], b", "a.index(b)", &tensors_and_tensor);
  add("aten::__contains__.int_list", "a: List[int], b: int", "b in a", &ints_and_int);
  add("aten::__contains__.float_list", "a: List[float], b: float", "b in a", &floats_and_float);
  add("aten::__contains__.str_list", "a: List[str], b: str", "b in a", &strings_and_string);
  add("aten::sum.int", "a: List[int], b: int", "torch.sum(a)", [] {
    return std::vector<InputSet>{{list<std::int64_t>({1, std::int64_t{1} << 33, 2}), 0}, {Ints(), 0}};
  });
  add("aten::sum.float", "a: List[float], b: float", "torch.sum(a)", &floats_and_float);
  add("aten::sum.bool", "a: List[bool], b: bool", "torch.sum(a)", &bools_and_bool);
  // The interpreter leaves zeros in a list of the caller.
  add("aten::sum.complex", "a: complex, b: complex", "torch.sum([a, b, a])", [] {
    return std::vector<InputSet>{{Complex(1, 2), Complex(0.5, -1)}, {Complex(0, -0.0), Complex(3, 1)}};
  });
  add("aten::append.t", "a: List[int], b: int", "list(a).append(b)", &ints_and_int);
  add("aten::__range_length", "a: int, b: int, c: int", "[i for i in range(a, b, c)]", &ranges);
  add("aten::__derive_index", "a: int, b: int, c: int", "[i for i in range(a, b, c)]", &ranges);

  const auto add_keys = [&](int index, std::vector<InputSet> (*runs)()) {
    const std::string type = key_types()[static_cast<std::size_t>(index)].type;
    const std::string parameters = "d: Dict[" + type + ", int], k: " + type;
    add("aten::__getitem__.Dict_" + type, parameters, "d[k]", runs);
    add("aten::len.Dict_" + type, parameters, "len(d)", runs);
    add("aten::__contains__." + type, parameters, "k in d", runs);
    add("aten::keys." + type, parameters, "d.keys()", runs);
    add("aten::values." + type, parameters, "d.values()", runs);
  };
  add_keys(0, &dictionary<0>);
  add_keys(1, &dictionary<1>);
  add_keys(2, &dictionary<2>);
  add_keys(3, &dictionary<3>);
  add_keys(4, &dictionary<4>);

  return rows;
}

const OracleTable registered{&language_rows};

TEST_CASE("strings, lists and dictionaries equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : language_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("lists and dictionaries that are changed", "[oracle][ops]") {
  OracleOptions options = kNative;
  const std::string loop = "def forward(self, x, n: int):\n    a = [x]\n    for i in range(n):\n        ";
  std::vector<InputSet> runs;
  for (const InputSet& run : few_alone()) runs.push_back({run[0], 3});
  options.managed = "aten::append.t";
  check_script(loop + "a.append(x * i)\n    return a[0] + a[-1]\n", runs, options);
  options.managed = "aten::extend.t";
  check_script(loop + "a.extend([x, x * i])\n    return a[0] + a[-1]\n", runs, options);
  options.managed = "aten::_set_item.t";
  check_script("def forward(self, a: List[int], i: int):\n    b = a.copy()\n    b[i] = 9\n    return b\n",
               ints_and_index(), options);
  for (const Keys& keys : key_types()) {
    options.managed = std::string("aten::_set_item.") + keys.type;
    check_script(std::string("def forward(self, x, k: ") + keys.type + "):\n    d: Dict[" + keys.type +
                     ", Tensor] = {}\n    d[k] = x + 1\n    d[k] = d[k] * 2\n    return d[k]\n",
                 {{at::ones({2}), keys.known}, {at::ones({3}), keys.unknown}, {at::ones({2}), keys.known}},
                 options);
  }
}

TEST_CASE("dictionaries whose keys are tensors", "[oracle][ops]") {
  OracleOptions options = kNative;
  options.managed = "aten::__getitem__.Dict_Tensor";
  check_script(
      "def forward(self, x):\n    d = {x: 3}\n    d[x] = 4\n    return d[x], len(d), x in d, d.values()\n",
      few_alone(), options);
  options.managed = "aten::keys.Tensor";
  check_script("def forward(self, x):\n    d = {x: 3}\n    return d.keys()\n", few_alone(), options);
}

}  // namespace sr::test::ops_language_tests
