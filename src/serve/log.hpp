// Lines of JSON on the standard error stream.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sr::serve {

// Writes one line: the time in UTC, the event, and the fields, whose values are texts. May be called from any
// thread.
void log_event(std::string_view event,
               std::initializer_list<std::pair<std::string_view, std::string>> fields = {});

}  // namespace sr::serve
