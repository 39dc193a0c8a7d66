// Runs of steps that compute a batch image by image: each image goes through all steps of the run, so that
// what one step writes is in the cache when the next one reads it. Memory that only the run uses holds one
// image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sr/replay/sizes/size.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

struct ImageLoop {
  struct Moved {
    StorageId storage;
    std::ptrdiff_t bytes;  // from one image to the next
  };
  struct Own {
    StorageId storage;
    std::uint32_t request;  // of memory
  };

  std::uint32_t first = 0, end = 0;  // steps
  Size images_of = 0;
  std::size_t images = 0;  // in this call
  std::vector<Moved> moved;
  std::vector<Own> own;  // storages that only the loop uses, for one image at a time
  Shares shares;         // divides the images among threads, each with a private copy of `own`

  void move(std::byte** bases, std::ptrdiff_t count) const {
    for (const Moved& each : moved) bases[each.storage] += count * each.bytes;
  }
};

// Calls body(i) for each step, those of a loop for one image after the other, with the bases of that image,
// unless is_done(loop) says that it has run the loop.
template <class IsDone, class Body>
void each_step(const std::vector<ImageLoop>& loops, std::size_t steps, std::byte** bases,
               const IsDone& is_done, const Body& body) {
  struct Restore {  // also if a step throws
    const ImageLoop& loop;
    std::byte** bases;
    std::ptrdiff_t moves = 0;

    void move() {
      ++moves;
      loop.move(bases, 1);
    }
    ~Restore() { loop.move(bases, -moves); }
  };
  std::size_t i = 0;
  for (const ImageLoop& loop : loops) {
    for (; i < loop.first; ++i) body(i);
    i = loop.end;
    if (is_done(loop)) continue;
    Restore at{loop, bases};
    for (std::size_t image = 0; image < loop.images; ++image) {
      if (image != 0) at.move();
      for (std::size_t step = loop.first; step < loop.end; ++step) body(step);
    }
  }
  for (; i < steps; ++i) body(i);
}

}  // namespace sr::replay
