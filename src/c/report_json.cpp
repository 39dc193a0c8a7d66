// Reports as JSON, with the names that Python's reports have.
#include <concepts>
#include <nlohmann/json.hpp>
#include <string>

#include "../values/report_fields.hpp"
#include "handles.hpp"

namespace sr::c {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json json_from(const T& value) {
  if constexpr (values::HasFields<T>) {
    Json object = Json::object();
    values::visit_fields(value,
                         [&](const char* name, const auto& field) { object[name] = json_from(field); });
    return object;
  } else if constexpr (values::IsListOfReports<T>) {
    Json array = Json::array();
    for (const auto& each : value) array.push_back(json_from(each));
    return array;
  } else if constexpr (std::same_as<T, values::Counts>) {
    Json object = Json::object();
    for (const auto& [reason, count] : value) object[reason] = count;
    return object;
  } else {
    return value;
  }
}

// Text of models may hold bytes that are not UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_of(const PoolReport& report) {
  return text_of(json_from(report));
}

std::string json_of(const BatcherReport& report) {
  Json json = json_from(report);
  json["batches_by_rows"] = report.batches_by_rows;
  return text_of(json);
}

}  // namespace sr::c
