// Sizes that vary between calls: "f32[n,50]" with a stream of sizes for n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr::tool {

// The specifications of arguments for `calls` calls, with a size of each call in place of every name in
// brackets and of "int:name". `streams` are "uniform:1..256", "zipf:1..256" (the size n as often as 1 / n
// says), "once:1..256" (each before any comes again, shuffled) or "list:1,8,32" (in turn), with "n=" in
// front; without it if there is one name only. Equal seeds draw equal sizes. Throws ArgumentError for a
// stream that cannot be read, that names no size, and for a name without a stream.
std::vector<std::vector<std::string>> varied(const std::vector<std::string>& shapes,
                                             const std::vector<std::string>& streams, std::size_t calls,
                                             std::uint64_t seed);

}  // namespace sr::tool
