// Stores the bytes that a replay overwrites in the variables of a model and in the caller's arguments, so
// that they can be restored if the call throws, or if the general path has to repeat it.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <sr/base/kept_bytes.hpp>
#include <sr/kernels/table.hpp>

namespace sr::replay {

class UndoLog {
 public:
  // Begins a call. `keep_all` lifts the limit of kMostKeptBytes.
  void begin(bool keep_all) { keeps_all_ = keep_all; }

  // Stores bytes that a step is about to overwrite. If a call stores more than the limit, nothing can be
  // restored.
  void keep(std::byte* at, std::size_t bytes) {
    if (!keeps_all_ && bytes_.size() + bytes > kMostKeptBytes) is_complete_ = false;
    if (!is_complete_ || bytes == 0) return;
    places_.push_back({at, bytes});
    bytes_.insert(bytes_.end(), at, at + bytes);
  }

  // Stores the bytes that a copy to `out` is about to overwrite.
  void keep(const kernels::StridedCopy& shape, std::byte* out) { keep(shape, 0, out); }

  // Restores all bytes, in reverse order, and clears the log. Returns false if that is not possible.
  bool undo() {
    const bool is_complete = is_complete_;
    std::size_t end = bytes_.size();
    for (std::size_t i = places_.size(); is_complete && i-- > 0;) {
      end -= places_[i].bytes;
      std::memcpy(places_[i].at, bytes_.data() + end, places_[i].bytes);
    }
    clear();
    return is_complete;
  }
  // Clears the log after a call that did not throw.
  void clear() {
    places_.clear();
    bytes_.clear();
    is_complete_ = true;
  }

 private:
  struct Place {
    std::byte* at;
    std::size_t bytes;
  };

  void keep(const kernels::StridedCopy& shape, std::size_t d, std::byte* out) {
    const bool is_run = d + 1 == shape.rank && shape.out_strides[d] == 1;
    if (d == shape.rank) return keep(out, shape.width);
    if (is_run) return keep(out, static_cast<std::size_t>(shape.sizes[d]) * shape.width);
    const std::int64_t step = shape.out_strides[d] * static_cast<std::int64_t>(shape.width);
    for (std::int64_t i = 0; i < shape.sizes[d]; ++i) keep(shape, d + 1, out + i * step);
  }

  std::vector<Place> places_;
  std::vector<std::byte> bytes_;
  bool is_complete_ = true, keeps_all_ = false;
};

}  // namespace sr::replay
