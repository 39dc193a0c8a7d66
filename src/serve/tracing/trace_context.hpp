// The trace that a request belongs to (W3C Trace Context, level 1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sr::serve {

struct TraceContext {
  std::string trace_id, parent_id;  // 32 and 16 hexadecimal digits
};

// Returns the context of a header `traceparent` whose sampled flag is set. A header that is malformed or not
// sampled has none: the standard asks to ignore it, and not to refuse the request.
std::optional<TraceContext> sampled_context(std::string_view traceparent);

}  // namespace sr::serve
