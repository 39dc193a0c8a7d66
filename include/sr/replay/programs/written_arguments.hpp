// The arguments that a program writes in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Returns the ranges of addresses that belong to weights, sorted and without overlaps.
inline std::vector<AddressRange> weight_ranges(const Trace& trace) {
  std::vector<AddressRange> ranges;
  for (const TracedTensor& tensor : trace.tensors) {
    const c10::StorageImpl* const storage = sr::detail::storage_of(tensor.recorded);
    if (trace.storages[tensor.storage].home != Home::weight || storage == nullptr) continue;
    const auto* const begin = static_cast<const std::byte*>(storage->data());
    ranges.push_back({begin, begin + storage->nbytes()});
  }
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  std::vector<AddressRange> merged;
  for (const AddressRange& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

// Stores the addresses of the written arguments in the table of bases. A tensor whose storage is
// copy-on-write gets its own copy of the bytes. Returns false if a replay must not write one, because it
// shares bytes with another argument or a weight. The bases of `args` must be set; the variables of the
// state, which share no memory with the caller, may follow.
inline bool enter_written_arguments(Program& program, std::span<const c10::IValue> args) {
  std::uint32_t leaf = 0;
  auto next = program.written_arguments.begin();
  const auto end = program.written_arguments.end();
  for (const c10::IValue& arg : args) {
    if (next == end) break;
    sr::detail::each_tensor(arg, [&](const at::Tensor& tensor) {
      if (next == end || leaf++ != *next) return;
      auto* const start =
          static_cast<std::byte*>(tensor.unsafeGetTensorImpl()->unsafe_storage().mutable_data());
      if (start != nullptr)
        program.bases[*next] =
            start + tensor.storage_offset() * static_cast<std::int64_t>(tensor.element_size());
      ++next;
    });
  }
  const auto range_of = [&](std::size_t i) {
    return AddressRange{program.bases[i], program.bases[i] + program.leaf_bytes[i]};
  };
  return std::ranges::none_of(program.written_arguments, [&](std::uint32_t written) {
    const AddressRange range = range_of(written);
    for (std::size_t other = 0; other < program.leaf_bytes.size(); ++other) {
      if (other != written && range.overlaps(range_of(other))) return true;
    }
    const auto& weights = program.notes->weights;
    const auto behind = std::ranges::upper_bound(weights, range.begin, {}, &AddressRange::end);
    return behind != weights.end() && range.overlaps(*behind);
  });
}

// True if a list or dictionary whose elements the program changes comes twice in the arguments.
inline bool repeats_changed_container(const Program& program, std::span<const c10::IValue> args) {
  if (program.results.changed.empty()) return false;
  std::vector<const void*> all;
  for (const c10::IValue& arg : args) {
    sr::detail::each_container(
        arg, [&](const c10::IValue& container) { all.push_back(container.internalToPointer()); });
  }
  return std::ranges::any_of(program.results.changed, [&](std::uint32_t position) {
    return std::ranges::count(all, all[position]) != 1;
  });
}

}  // namespace sr::replay
