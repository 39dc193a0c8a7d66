// What a step reads and writes for each image of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sr/replay/sizes/size.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The bytes `begin` to `end` - 1 of a storage, which belong to the first image. The same bytes of the next
// image are `next` bytes behind them.
struct ImageAccess {
  std::uint32_t storage = 0;
  std::int64_t begin = 0, end = 0, next = 0;
  bool writes = false;
};

struct ImageAccesses {
  Size images = 0;
  std::vector<ImageAccess> all;
  std::size_t weight_bytes = 0;  // that are read for each image
  bool convolves = false;

  // Adds `count` elements of each image, which are `next` elements apart.
  void add(const Address& address, std::int64_t count, std::int64_t next, bool writes,
           std::size_t element = sizeof(float)) {
    const auto bytes = static_cast<std::int64_t>(element);
    all.push_back({address.base, address.offset, address.offset + count * bytes, next * bytes, writes});
  }
};

}  // namespace sr::replay
