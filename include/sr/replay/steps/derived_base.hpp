// Bases of addresses whose offsets differ between calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/replay/sizes/values.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// An entry of the table of bases that lies at an offset from another one. Set in every call, when the other
// one is known.
struct DerivedBase {
  StorageId base = kNone, from = kNone;
  Size offset_of;           // bytes
  std::int64_t offset = 0;  // the same in this call

  void settle(SizeValues& values) { offset = values(offset_of); }
  void set(std::byte** bases) const { bases[base] = bases[from] + offset; }
};

}  // namespace sr::replay
