#include "inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
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

#include "argument_spec.hpp"
#include "numpy_file.hpp"
#include "pickle.hpp"

namespace sr::tool {
namespace {

using values::is_sequence;
using values::items_of;

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
  return ArgumentSpec(spec, std::move(generator)).read();
}

}  // namespace sr::tool
