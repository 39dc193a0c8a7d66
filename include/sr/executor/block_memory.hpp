// The memory of an arena, as reports show it.
#pragma once

#include <vector>

#include <sr/graph/report.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/request.hpp>

namespace sr {

inline BlockMemory block_memory(memory::Bytes arena, const std::vector<memory::Request>& requests,
                                const memory::Layout& layout) {
  return {arena, memory::lower_bound(requests), memory::no_reuse_bytes(requests), requests, layout};
}

template <class Arena>
BlockMemory block_memory(const Arena& arena) {
  return block_memory(arena.bytes(), arena.requests(), arena.layout());
}

}  // namespace sr
