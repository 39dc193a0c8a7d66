// How much memory the process holds by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>

namespace sr::test {

// The sum of these fields of /proc/self/smaps, in KiB, of the mapping in which `address` lies.
inline std::size_t kib_of(const void* address, std::initializer_list<const char*> fields) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  std::size_t kib = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream extent(line);
    if (extent >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= wanted && wanted < end;
    for (const std::string field : fields) {
      if (inside && line.starts_with(field)) kib += std::stoul(line.substr(field.size()));
    }
  }
  return kib;
}

// What the process alone holds of the mapping.
inline std::size_t private_kib(const void* address) {
  return kib_of(address, {"Private_Dirty:", "Private_Clean:"});
}
// What it has written in a private mapping. Pages of files in memory count as dirty before that.
inline std::size_t written_kib(const void* address) {
  return kib_of(address, {"Anonymous:"});
}

}  // namespace sr::test
