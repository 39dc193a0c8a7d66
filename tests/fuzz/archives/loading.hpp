// Loads an archive that may be damaged, and says whether sr behaved as it promises.
#pragma once

#include <cstdint>
#include <string>

namespace sr::fuzz {

enum class Ending { loaded, refused, failed };

struct Loading {
  Ending ending = Ending::loaded;
  std::string message;          // of the exception, or what is wrong
  std::int64_t peak_bytes = 0;  // of the heap; 0 where it is not watched
};

// As a server would load it. An exception that is no sr::Error is a failure, and so is a peak of the heap
// above `most_bytes`.
Loading load(const std::string& archive, std::int64_t most_bytes);

// What an archive of that size may take whose intact seed takes `seed_peak`: four times as much, and what a
// parser may keep at any size.
std::int64_t allowance(std::size_t archive_bytes, std::int64_t seed_peak);

}  // namespace sr::fuzz
