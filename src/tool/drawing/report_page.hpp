// A report as HTML: what a runtime does with a model, at a glance.
#pragma once

#include <string>

#include <sr/base/call_metrics.hpp>
#include <sr/report.hpp>

namespace sr::tool {

// Latencies, plans with their steps (with times where steps were timed), memory, and the nodes that the
// interpreter runs. It needs nothing from elsewhere: no scripts, no fonts, no network. For a cell of a
// notebook.
std::string report_fragment(const std::string& title, const Report& report, const CallMetrics& calls);

// Returns the page as the text of a file.
std::string report_page(const std::string& title, const Report& report, const CallMetrics& calls);

}  // namespace sr::tool
