// Reads the JSON of a serialised torch.export program. A value that is missing, or of another type than the
// schema's, is a LoadError that names the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <sr/base/error.hpp>

namespace sr::exported {

using Json = nlohmann::json;

// `where` completes "the program's ... ", as in "node 'add_1'".
[[noreturn]] inline void malformed(const std::string& where, const std::string& what) {
  throw LoadError("The exported program is damaged or of another version: " + where + " " + what +
                  "; export it again with torch.export.save of PyTorch 2.8 or later.");
}

// True if objects and lists are nested deeper than `most`. Readers call themselves for nested values, so a
// crafted file could exhaust the stack.
inline bool nests_deeper_than(std::string_view text, int most) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// Throws LoadError for text that is no JSON object, or that nests values more than 2,000 deep; 100 graphs
// inside each other take some 800 levels.
inline Json parse_json(std::string_view text, const std::string& where) {
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded() || !parsed.is_object()) malformed(where, "is not a JSON object");
  constexpr int kDeepest = 2000;
  if (nests_deeper_than(text, kDeepest)) malformed(where, "nests values more than 2,000 deep");
  return parsed;
}

inline const Json& member(const Json& object, const char* name, const std::string& where) {
  if (!object.is_object()) malformed(where, "is not an object");
  const auto found = object.find(name);
  if (found == object.end()) malformed(where, std::string("has no field '") + name + "'");
  return *found;
}

inline const Json& items_of(const Json& object, const char* name, const std::string& where) {
  const Json& found = member(object, name, where);
  if (!found.is_array()) malformed(where, std::string("has a field '") + name + "' that is not a list");
  return found;
}

inline const Json& entries_of(const Json& object, const char* name, const std::string& where) {
  const Json& found = member(object, name, where);
  if (!found.is_object()) malformed(where, std::string("has a field '") + name + "' that is not an object");
  return found;
}

inline const std::string& as_string(const Json& value, const std::string& where) {
  if (!value.is_string()) malformed(where, "has something else where a string is expected");
  return value.get_ref<const std::string&>();
}

inline const std::string& text_of(const Json& object, const char* name, const std::string& where) {
  return as_string(member(object, name, where), where);
}

inline std::int64_t as_int(const Json& value, const std::string& where) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) malformed(where, "has something else where an integer of 64 bits is expected");
  return value.get<std::int64_t>();
}

inline bool as_bool(const Json& value, const std::string& where) {
  if (!value.is_boolean()) malformed(where, "has something else where true or false is expected");
  return value.get<bool>();
}

// Numbers that JSON lacks (infinity, NaN) are written as text.
inline double as_float(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  malformed(where, "has something else where a number is expected");
}

// A union of the schema: an object with one field, whose name is the type of its value.
struct Tagged {
  const std::string& tag;
  const Json& value;
};

inline Tagged tagged(const Json& object, const std::string& where) {
  if (!object.is_object() || object.size() != 1)
    malformed(where, "has no union of one field where one is expected");
  return {object.begin().key(), object.begin().value()};
}

}  // namespace sr::exported
