#include "trace_context.hpp"

#include <algorithm>

namespace sr::serve {
namespace {

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> sampled_context(std::string_view traceparent) {
  // "00-TRACE-PARENT-FLAGS". A later version may append more fields behind another dash.
  constexpr std::size_t kLength = 55;
  if (traceparent.size() < kLength) return std::nullopt;
  const std::string_view version = traceparent.substr(0, 2), trace = traceparent.substr(3, 32),
                         parent = traceparent.substr(36, 16), flags = traceparent.substr(53, 2);
  const bool has_dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  const bool ends_well = traceparent.size() == kLength || (version != "00" && traceparent[kLength] == '-');
  if (!has_dashes || !ends_well || version == "ff" || is_zero(trace) || is_zero(parent)) return std::nullopt;
  if (!is_hexadecimal(version) || !is_hexadecimal(trace) || !is_hexadecimal(parent) || !is_hexadecimal(flags))
    return std::nullopt;
  const bool is_sampled = std::string_view("13579bdf").find(flags[1]) != std::string_view::npos;
  if (!is_sampled) return std::nullopt;
  return TraceContext{std::string(trace), std::string(parent)};
}

}  // namespace sr::serve
