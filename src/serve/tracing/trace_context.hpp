// The trace that a request belongs to (W3C Trace Context, level 1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sr::serve {

struct TraceContext {
  std::string trace_id, parent_id;  // 32 and 16 hexadecimal digits
};

// Parses a `traceparent` header. Returns nullopt if the header is malformed or its sampled flag is not set:
// the standard requires servers to ignore a malformed header, so that the request is still answered.
std::optional<TraceContext> sampled_context(std::string_view traceparent);

}  // namespace sr::serve
