#include <nlohmann/json.hpp>

#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

namespace {

using Json = nlohmann::json;

// All values inside of a value, and itself.
void collect(Json& value, std::vector<Json*>& found) {
  found.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& part : value) collect(part, found);
}

// Another value of the same kind, so that a reader goes on.
void change(Json& value, Random& random) {
  if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number()) {
    value = extreme_number(random);
  } else if (value.is_string()) {
    auto text = value.get<std::string>();
    edit_bytes(text, random);
    value = text;
  } else if (value.is_array() && !value.empty()) {
    const std::size_t at = random.below(value.size());
    const Json copy = value[at];
    if (random.chance(50)) {
      value.erase(at);
    } else {
      for (std::size_t i = std::size_t{1} << random.below(8); i-- > 0;) value.push_back(copy);
    }
  } else if (value.is_object() && !value.empty()) {
    auto at = value.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random.below(value.size())));
    const std::string key = at.key();
    const Json part = at.value();
    if (random.chance(60)) value.erase(key);
    if (random.chance(40)) value[key + "_"] = part;
  } else {
    value = extreme_number(random);
  }
}

Json nested(Json value, Random& random) {
  const bool lists = random.chance(50);
  for (std::size_t i = std::size_t{1} << random.below(12); i-- > 0;) {
    Json outer = lists ? Json::array() : Json::object();
    if (lists) {
      outer.push_back(std::move(value));
    } else {
      outer["as_tensor"] = std::move(value);
    }
    value = std::move(outer);
  }
  return value;
}

}  // namespace

void edit_json(std::string& json, Random& random) {
  Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return edit_bytes(json, random);
  std::vector<Json*> values;
  collect(parsed, values);
  Json& value = *random.of(values);
  const Json other = *random.of(values);
  switch (random.below(8)) {
    case 0:
      value = other;
      break;
    case 1:
      value = nullptr;
      break;
    case 2:
      value = nested(random.chance(50) ? other : Json("x"), random);
      break;
    default:
      change(value, random);
  }
  json = parsed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sr::fuzz
