// The memory of layouts is mapped before a kernel uses it.
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <sr/executor/heap_buffer.hpp>

#include "support/catch.hpp"

namespace sr::test::mapped_memory_tests {

TEST_CASE("all pages of the memory of a layout are mapped when it is allocated", "[executor][memory]") {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const memory::Bytes bytes :
       {std::size_t{1}, std::size_t{5000}, std::size_t{4} << 20, (std::size_t{64} << 20) + 1}) {
    memory::HeapBuffer buffer;
    REQUIRE(buffer.reserve(bytes));
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data()) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(buffer.data()) + bytes;
    std::vector<unsigned char> is_resident((end - begin + page - 1) / page);
    REQUIRE(mincore(reinterpret_cast<void*>(begin), end - begin, is_resident.data()) == 0);
    std::size_t missing = 0;
    for (const unsigned char resident : is_resident) missing += (resident & 1U) == 0;
    CAPTURE(bytes);
    CHECK(missing == 0);
  }
}

}  // namespace sr::test::mapped_memory_tests
