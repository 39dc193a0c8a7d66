#include <algorithm>

#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

std::int64_t extreme_number(Random& random) {
  static constexpr std::int64_t kNumbers[] = {0,
                                              1,
                                              -1,
                                              2,
                                              3,
                                              7,
                                              -2,
                                              127,
                                              128,
                                              255,
                                              256,
                                              65535,
                                              65536,
                                              1000000,
                                              (1LL << 31) - 1,
                                              1LL << 31,
                                              -(1LL << 31),
                                              (1LL << 32) - 1,
                                              1LL << 32,
                                              1LL << 40,
                                              (1LL << 62),
                                              -(1LL << 62),
                                              INT64_MAX,
                                              INT64_MIN};
  return random.of(kNumbers);
}

void edit_bytes(std::string& bytes, Random& random) {
  if (bytes.empty()) return void(bytes.push_back(static_cast<char>(random.bits())));
  const std::size_t at = random.below(bytes.size());
  const std::size_t count = std::min(bytes.size() - at, std::size_t{1} << random.below(8));
  switch (random.below(6)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      return;
    case 1:
      bytes[at] = static_cast<char>(random.bits());
      return;
    case 2:
      bytes.erase(at, count);
      return;
    case 3:
      bytes.insert(random.below(bytes.size() + 1), bytes.substr(at, count));
      return;
    case 4: {
      const unsigned width = 1U << random.below(4);
      if (bytes.size() - at < width) return;
      test::put(bytes, at, static_cast<std::uint64_t>(extreme_number(random)), width);
      return;
    }
    default:
      bytes.resize(at);
  }
}

}  // namespace sr::fuzz
