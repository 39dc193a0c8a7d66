// What a piece of a program takes from the heap, where AddressSanitizer has replaced it.
#pragma once

#include <cstdint>
#include <optional>

namespace sr::fuzz {

class HeapPeak {
 public:
  HeapPeak();  // begins to measure; one at a time

  // The largest number of bytes that were allocated at a time since, beyond those before. Nothing without
  // AddressSanitizer.
  std::optional<std::int64_t> bytes() const;

 private:
  std::int64_t before_;
};

}  // namespace sr::fuzz
