#include "inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <sr/error.hpp>
#include <sr/frontend/pickle/reader.hpp>
#include <sr/frontend/pickle/scalar_type_names.hpp>

#include "numpy_file.hpp"
#include "pickle.hpp"

namespace sr::tool {
namespace {

std::string read_bytes(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw LoadError("'" + path + "' is a directory, not a file of inputs.");
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  if (in) {
    in.seekg(0, std::ios::end);
    const auto size = in.tellg();
    in.seekg(0);
    if (size > 0) bytes.resize(static_cast<std::size_t>(size));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  if (!in) throw LoadError("The file of inputs '" + path + "' cannot be read: " + std::strerror(errno) + ".");
  return bytes;
}

bool is_sequence(const c10::IValue& value) {
  return value.isTuple() || value.isList();
}

std::vector<c10::IValue> items_of(const c10::IValue& value) {
  return value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
}

bool fits(const c10::IValue& value, const c10::TypePtr& type) {
  return value.type()->isSubtypeOf(*type);
}

c10::IValue conform_list(const c10::IValue& value, const c10::TypePtr& element) {
  c10::impl::GenericList result(element);
  for (const c10::IValue& item : items_of(value)) {
    c10::IValue converted = conform(item, element);
    if (!fits(converted, element)) return value;
    result.push_back(std::move(converted));
  }
  return result;
}

c10::IValue conform_dict(const c10::IValue& value, const c10::DictType& type) {
  c10::impl::GenericDict result(type.getKeyType(), type.getValueType());
  for (const auto& item : value.toGenericDict()) {
    c10::IValue key = conform(item.key(), type.getKeyType());
    c10::IValue mapped = conform(item.value(), type.getValueType());
    if (!fits(key, type.getKeyType()) || !fits(mapped, type.getValueType())) return value;
    result.insert_or_assign(std::move(key), std::move(mapped));
  }
  return result;
}

c10::IValue conform_tuple(const c10::IValue& value, const c10::TupleTypePtr& type) {
  std::vector<c10::IValue> items = value.toTupleRef().elements().vec();
  if (items.size() != type->elements().size()) return value;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = conform(std::move(items[i]), type->elements()[i]);
    if (!fits(items[i], type->elements()[i])) return value;
  }
  return c10::ivalue::Tuple::createNamed(std::move(items), type);
}

class SpecReader {
 public:
  SpecReader(std::string_view spec, at::Generator generator)
      : spec_(spec), generator_(generator.defined() ? std::optional(std::move(generator)) : std::nullopt) {}

  c10::IValue read() {
    if (spec_ == "none") return {};
    const std::size_t colon = spec_.find(':'), bracket = spec_.find('[');
    if (colon < bracket) return scalar(spec_.substr(0, colon), colon + 1);
    const auto* type = detail::find_scalar_type(&detail::ScalarTypeName::spec,
                                                spec_.substr(0, std::min(bracket, spec_.size())));
    if (spec_.empty() || type == nullptr || type->spec.empty()) {
      fail(0, "one of f16, bf16, f32, f64, i8, u8, i16, i32, i64, bool, int:, float:, str:, none");
    }
    if (bracket == std::string_view::npos) fail(spec_.size(), "'[' and the sizes");
    std::size_t at = bracket + 1;
    const std::vector<std::int64_t> sizes = read_sizes(at);
    if (at == spec_.size()) return tensor(*type, sizes);
    if (spec_[at] != ':') fail(at, "':' and a range, or nothing");
    return tensor_between(*type, sizes, at + 1);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& expected) const {
    throw ArgumentError("The argument '" + std::string(spec_) + "' is wrong at position " +
                        std::to_string(at + 1) + ": " + expected +
                        " was expected there. Right are for example f32[8,50], i64[8]:0..999, f32[2,3]:0..1, "
                        "f32[], int:5, float:0.5, bool:true, str:abc, none.");
  }

  // All of spec_[begin, end) as a number.
  template <class Number>
  Number number(std::size_t begin, std::size_t end, const char* expected) const {
    Number value{};
    const auto [stop, error] = std::from_chars(spec_.data() + begin, spec_.data() + end, value);
    if (error != std::errc{}) fail(begin, expected);
    if (stop != spec_.data() + end) fail(static_cast<std::size_t>(stop - spec_.data()), expected);
    return value;
  }

  double real(std::size_t begin, std::size_t end) const {
    return number<double>(begin, end, "a number such as 0.5");
  }
  std::int64_t integer(std::size_t begin, std::size_t end) const {
    return number<std::int64_t>(begin, end, "a whole number of 64 bits");
  }

  c10::IValue scalar(std::string_view kind, std::size_t at) const {
    if (kind == "int") return integer(at, spec_.size());
    if (kind == "float") return real(at, spec_.size());
    if (kind == "str") return std::string(spec_.substr(at));
    if (kind == "bool") {
      if (spec_.substr(at) == "true") return true;
      if (spec_.substr(at) == "false") return false;
      fail(at, "true or false");
    }
    if (detail::find_scalar_type(&detail::ScalarTypeName::spec, kind) != nullptr && !kind.empty())
      fail(kind.size(), "'[' and the sizes");
    fail(0, "int:, float:, bool:, str: or a dtype with sizes");
  }

  // From behind the '[' to behind the ']'.
  std::vector<std::int64_t> read_sizes(std::size_t& at) const {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    std::vector<std::int64_t> sizes;
    const std::size_t close = spec_.find(']', at);
    if (close == std::string_view::npos) fail(spec_.size(), "']'");
    std::int64_t elements = 1;
    while (at < close) {
      const std::size_t end = std::min(spec_.find(',', at), close);
      const auto size = number<std::int64_t>(at, end, "a size");
      if (size < 0) fail(at, "a size that is not negative");
      if (size > most || (size > 0 && elements > most / size))
        fail(at, "a size that leaves less than 2^40 elements");
      elements *= std::max<std::int64_t>(size, 1);
      sizes.push_back(size);
      if (end < close && end + 1 == close) fail(close, "a size");
      at = end + (end < close ? 1 : 0);
    }
    ++at;
    return sizes;
  }

  static bool is_floating(const detail::ScalarTypeName& type) { return c10::isFloatingType(type.type); }
  static at::ScalarType drawn_as(const detail::ScalarTypeName& type) {
    return type.type == at::kDouble ? at::kDouble : at::kFloat;
  }

  at::Tensor tensor(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes) const {
    if (!is_floating(type)) return whole_numbers(type, sizes, 0, type.type == at::kBool ? 1 : 9);
    return at::empty(sizes, drawn_as(type)).normal_(0, 1, generator_).to(type.type);
  }

  at::Tensor whole_numbers(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes,
                           std::int64_t low, std::int64_t high) const {
    at::Tensor values = at::empty(sizes, at::kLong);
    const bool open =
        high == std::numeric_limits<std::int64_t>::max();  // random_ without an end includes the last
    return values.random_(low, open ? std::nullopt : std::optional(high + 1), generator_).to(type.type);
  }

  at::Tensor tensor_between(const detail::ScalarTypeName& type, const std::vector<std::int64_t>& sizes,
                            std::size_t at) const {
    const std::size_t dots = spec_.find("..", at);
    if (dots == std::string_view::npos) fail(at, "a range such as 0..9");
    if (!is_floating(type)) {
      const std::int64_t low = integer(at, dots), high = integer(dots + 2, spec_.size());
      const auto [least, most] = limits(type.type);
      if (low < least || low > most) fail(at, "a number that " + std::string(type.spec) + " can hold");
      if (high < low) fail(dots + 2, "an end that is not below the begin");
      if (high > most) fail(dots + 2, "a number that " + std::string(type.spec) + " can hold");
      return whole_numbers(type, sizes, low, high);
    }
    const double low = real(at, dots), high = real(dots + 2, spec_.size());
    const double most = type.type == at::kHalf ? 65504.0 : type.type == at::kDouble ? 1e308 : 3e38;
    if (!(std::abs(low) <= most)) fail(at, "a finite number that " + std::string(type.spec) + " can hold");
    if (!(high >= low)) fail(dots + 2, "an end that is not below the begin");
    if (!(high <= most) || !(high - low <= most)) {
      fail(dots + 2,
           "a finite number that " + std::string(type.spec) + " can hold, also its distance from the begin,");
    }
    return at::empty(sizes, drawn_as(type)).uniform_(low, high, generator_).to(type.type);
  }

  static std::pair<std::int64_t, std::int64_t> limits(at::ScalarType type) {
    switch (type) {
      case at::kBool:
        return {0, 1};
      case at::kByte:
        return {0, 255};
      case at::kChar:
        return {-128, 127};
      case at::kShort:
        return {-32768, 32767};
      case at::kInt:
        return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
      default:
        return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    }
  }

  std::string_view spec_;
  std::optional<at::Generator> generator_;
};

// The values with types that torch.jit.save writes among arguments.
std::optional<c10::IValue> of_torch_script(std::string_view name, const std::vector<c10::IValue>& arguments) {
  if (name == "torch.jit._pickle.restore_type_tag" && arguments.size() == 2) {
    return conform(arguments[0], torch::jit::Unpickler::defaultTypeParser(arguments[1].toStringRef()));
  }
  static const std::map<std::string_view, c10::TypePtr> lists{{"intlist", c10::ListType::ofInts()},
                                                              {"doublelist", c10::ListType::ofFloats()},
                                                              {"boollist", c10::ListType::ofBools()},
                                                              {"tensorlist", c10::ListType::ofTensors()}};
  constexpr std::string_view kBuild = "torch.jit._pickle.build_";
  if (!name.starts_with(kBuild) || arguments.size() != 1) return std::nullopt;
  const auto list = lists.find(name.substr(kBuild.size()));
  if (list == lists.end()) return std::nullopt;
  return conform(arguments[0], list->second);
}

// The arrays as arguments, up to the last one that is given.
ArgumentList arguments_of(const std::vector<NamedArray>& arrays, const std::vector<std::string>& names,
                          const std::string& path) {
  std::map<std::size_t, at::Tensor> by_position;
  for (const NamedArray& array : arrays) {
    constexpr std::string_view kNumbered = "arr_";
    std::size_t position = arrays.size();
    const auto named = std::ranges::find(names, array.name);
    if (named != names.end()) {
      position = static_cast<std::size_t>(named - names.begin());
    } else if (array.name.empty()) {
      position = 0;
    } else if (array.name.starts_with(kNumbered)) {
      const char* const end = array.name.data() + array.name.size();
      if (std::from_chars(array.name.data() + kNumbered.size(), end, position).ptr != end)
        position = arrays.size();
    }
    const bool is_known = named != names.end() || position < arrays.size();
    if (!is_known || !by_position.emplace(position, array.value).second) {
      throw LoadError("The file '" + path + "' has an array '" + array.name +
                      "', which is no argument of the model; its arguments are: " + c10::Join(", ", names) +
                      ". Write them with numpy.savez(path, first, second) or by these names.");
    }
  }
  ArgumentList arguments;
  for (const auto& [position, value] : by_position) {
    if (position != arguments.size()) {
      throw LoadError("The file '" + path + "' has no array for the argument '" +
                      (arguments.size() < names.size() ? names[arguments.size()]
                                                       : "arr_" + std::to_string(arguments.size())) +
                      "' of the model; its arguments are: " + c10::Join(", ", names) + ".");
    }
    arguments.push_back(value);
  }
  return arguments;
}

}  // namespace

std::vector<ArgumentList> read_input_sets(const std::string& path, const std::vector<std::string>& names) {
  const std::string bytes = read_bytes(path);
  const auto content = std::as_bytes(std::span(bytes));
  if (is_numpy_file(content, path)) return {arguments_of(read_numpy(content, path), names, path)};
  const detail::PickleArchive archive(
      content, path,
      {"The file '" + path + "' does not hold inputs that can be read",
       " Write it in Python with torch.save([first, second], path); tensors, numbers, strings, None, "
       "and lists, tuples and dicts of them are understood."});
  detail::PickleReader reader(archive, [&](const detail::PickleReader&, const std::string& name,
                                           const std::vector<c10::IValue>& arguments) {
    if (std::optional<c10::IValue> typed = of_torch_script(name, arguments)) return *std::move(typed);
    archive.reject("it holds a value made by " + name);
  });
  const c10::IValue value = reader.read();
  reader.check_plain(value);
  if (!is_sequence(value)) {
    throw LoadError("The file '" + path + "' holds a value of type " + value.type()->repr_str() +
                    ", but the arguments of a call are a list: write it in Python with torch.save([first, "
                    "second], path).");
  }
  const std::vector<c10::IValue> items = items_of(value);
  if (items.empty() || !std::ranges::all_of(items, is_sequence)) return {items};
  std::vector<ArgumentList> sets;
  sets.reserve(items.size());
  for (const c10::IValue& item : items) sets.push_back(items_of(item));
  return sets;
}

c10::IValue conform(c10::IValue value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      return value.isNone()
                 ? value
                 : conform(std::move(value), type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::FloatType:
      return value.isInt() ? c10::IValue(static_cast<double>(value.toInt())) : value;
    case c10::TypeKind::ListType:
      if (!is_sequence(value) || fits(value, type)) return value;
      return conform_list(value, type->expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::DictType:
      if (!value.isGenericDict() || fits(value, type)) return value;
      return conform_dict(value, type->expectRef<c10::DictType>());
    case c10::TypeKind::TupleType:
      return value.isTuple() ? conform_tuple(value, type->expect<c10::TupleType>()) : value;
    case c10::TypeKind::UnionType:
      if (fits(value, type)) return value;
      for (const c10::TypePtr& member : type->expectRef<c10::UnionType>().containedTypes()) {
        if (c10::IValue converted = conform(value, member); fits(converted, member)) return converted;
      }
      return value;
    default:
      return value;
  }
}

void write_values(const std::string& path, const std::vector<c10::IValue>& outputs) {
  c10::impl::GenericList list(c10::AnyType::get());
  for (const c10::IValue& output : outputs) list.push_back(output);
  Pickler pickler;
  pickler.add(list);
  const std::string bytes = pickler.finish();
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw LoadError("The file '" + path + "' cannot be written: " + std::strerror(errno) + ".");
}

c10::IValue random_argument(std::string_view spec, at::Generator generator) {
  return SpecReader(spec, std::move(generator)).read();
}

}  // namespace sr::tool
