// The picture of a sweep.
#pragma once

#include <string>

#include "../verbs/tune/tune_point.hpp"

namespace sr::tool {

// Latency and throughput against the number of threads, as SVG, with a line for each batch and number of
// callers.
std::string tuning_svg(const Tuning& tuning);

}  // namespace sr::tool
