// The memory that a program requests, and when tensors of interpreted nodes are released.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/programs/program.hpp>

namespace sr::replay {

// Adds a request to the program for each storage that a step writes, but for those of results and constants.
// program.notes must be complete.
inline void request_memory(const std::vector<Draft>& drafts, const std::vector<bool>& is_result,
                           Program& program) {
  const std::vector<TracedStorage>& storages = program.notes->storages;
  std::vector<std::uint32_t> request_of(storages.size(), kNone);
  const auto is_placed = [&](StorageId storage) {
    return storages[storage].home == Home::produced && !is_result[storage];
  };
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    for (const StorageId storage : drafts[d].writes) {
      if (!is_placed(storage) || request_of[storage] != kNone) continue;
      request_of[storage] = static_cast<std::uint32_t>(program.requests.size());
      program.placed.push_back(storage);
      program.request_bytes.push_back(storages[storage].bytes);
      program.requests.push_back(
          {.bytes = static_cast<std::size_t>(storages[storage].bytes.recorded()), .first = d, .end = d + 1});
    }
    for (const StorageId storage : drafts[d].writes) {
      if (is_placed(storage)) program.requests[request_of[storage]].end = d + 1;
    }
    for (const StorageId storage : drafts[d].reads) {
      if (is_placed(storage) && request_of[storage] != kNone)
        program.requests[request_of[storage]].end = d + 1;
    }
  }
  // Later images use what loops move after earlier ones have gone through all steps.
  for (ImageLoop& loop : program.image_loops) {
    for (ImageLoop::Own& own : loop.own) own.request = request_of[own.storage];
    for (const ImageLoop::Moved& moved : loop.moved) {
      if (request_of[moved.storage] == kNone) continue;
      memory::Request& request = program.requests[request_of[moved.storage]];
      request.first = std::min<memory::StepIndex>(request.first, loop.first);
      request.end = std::max<memory::StepIndex>(request.end, loop.end);
    }
  }
}

// Notes the last step that reads each tensor which an interpreted node returns, unless it is a result.
// program.notes and program.results must be complete.
inline void note_dead_tensors(const std::vector<Draft>& drafts, Program& program) {
  const std::vector<TracedStorage>& storages = program.notes->storages;
  std::map<StorageId, std::uint32_t> last;
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    for (const auto* const used : {&drafts[d].writes, &drafts[d].reads}) {
      for (const StorageId storage : *used) {
        if (storages[storage].home == Home::opaque) last[storage] = d;
      }
    }
  }
  for (const auto* const results : {&program.results, &program.assigned}) {
    for (const ResultTensor& result : results->tensors) {
      if (result.kind == ResultTensor::From::opaque) last.erase(result.from);
    }
  }
  for (const auto& [storage, step] : last) program.dead_after.emplace_back(step, storage);
  std::ranges::sort(program.dead_after);
}

}  // namespace sr::replay
