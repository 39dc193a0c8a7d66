// Programs as a file that Python reads, to run them in eager mode.
#pragma once

#include <cstdint>
#include <string>

namespace sr::fuzz {

// Writes programs `first` to `first + count - 1` of the seed, as torch.load reads them: a tuple for each, of
// its index, its source, its archive as bytes, its attributes by name, whether it may be compared with a
// tolerance only for low precision, and the arguments of each run that changes nothing but arguments.
// Programs that do not compile or that write attributes are left out.
void export_programs(std::uint64_t seed, std::uint64_t first, std::uint64_t count, const std::string& path);

}  // namespace sr::fuzz
