// Removes pointwise operations and reductions whose results are not read. They remain when a product step
// turns out to read the quantized integers, or to quantize the floats, itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

// By storage: whether a step outside of the group that makes it reads it, or the caller (`is_result`), or no
// group makes it. Others live in the scratch of their fused step.
inline std::vector<bool> storages_kept(const std::vector<Draft>& drafts, const std::vector<bool>& is_result) {
  std::vector<bool> kept = is_result;
  std::vector<std::uint32_t> writer(kept.size(), kNone);
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    for (const StorageId storage : drafts[d].writes) {
      writer[storage] = d;
      if (drafts[d].group == kNone) kept[storage] = true;
    }
  }
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    for (const StorageId storage : drafts[d].reads) {
      if (writer[storage] != kNone && writer[storage] != d) kept[storage] = true;
    }
  }
  return kept;
}

namespace detail {

// Removes the row kernels of a group whose results are not read. Returns whether it removed any.
inline bool drop_dead_rows(Group& group, Draft& draft, const std::vector<bool>& kept) {
  const std::size_t removed = std::erase_if(group.rows, [&](const GroupRows& rows) {
    if (kept[rows.out.storage]) return false;
    std::erase(draft.writes, rows.out.storage);
    return true;
  });
  return removed != 0;
}

// Removes the operations of a group whose results are not read. Returns whether it removed any. A group with
// row kernels keeps all of its operations.
inline bool drop_dead_operations(Group& group, Draft& draft, const std::vector<bool>& kept) {
  if (drop_dead_rows(group, draft, kept)) return true;
  if (!group.rows.empty()) return false;
  std::vector<StorageId> read;
  const std::size_t before = group.ops.size();
  for (std::size_t i = before; i-- > 0;) {
    const StorageId made = group.ops[i].out.storage;
    if (!kept[made] && std::ranges::find(read, made) == read.end()) {
      group.ops.erase(group.ops.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    for (const PointwiseInput& input : group.ops[i].inputs) {
      if (input.operand) read.push_back(input.operand->storage);
    }
  }
  if (group.ops.size() == before) return false;
  draft.reads = std::move(read);
  draft.writes.clear();
  for (const PointwiseOp& op : group.ops) draft.writes.push_back(op.out.storage);
  return true;
}

// True if the step only writes results, and none of them is read.
inline bool is_dead(const Draft& draft, const std::vector<bool>& is_read) {
  return draft.step.payload != nullptr && draft.step.payload->may_be_dropped() && !draft.writes.empty() &&
         std::ranges::none_of(draft.writes, [&](StorageId storage) { return is_read[storage]; });
}

// By storage: whether a step or the caller reads it.
inline std::vector<bool> storages_read(const std::vector<Draft>& drafts, const std::vector<bool>& is_result) {
  std::vector<bool> is_read = is_result;
  for (const Draft& draft : drafts) {
    for (const StorageId storage : draft.reads) is_read[storage] = true;
  }
  return is_read;
}

}  // namespace detail

// Drafts of groups that have no operation left are removed; the groups stay, empty. Returns the new position
// of each draft, kNone for those that are gone. `is_result`: by storage, see storages_kept.
inline std::vector<std::uint32_t> drop_dead_operations(Lowering& lowering,
                                                       const std::vector<bool>& is_result) {
  std::vector<Draft>& drafts = lowering.drafts();
  std::vector<Group>& groups = lowering.groups();
  bool any = true;
  while (any) {
    any = false;
    const std::vector<bool> kept = storages_kept(drafts, is_result);
    for (std::size_t g = groups.size(); g-- > 0;)
      any |= detail::drop_dead_operations(groups[g], drafts[groups[g].position], kept);
    const std::vector<bool> is_read = detail::storages_read(drafts, is_result);
    for (Draft& draft : drafts) {
      if (!detail::is_dead(draft, is_read)) continue;
      draft = {};
      any = true;
    }
  }
  std::vector<std::uint32_t> positions(drafts.size(), kNone);
  std::uint32_t left = 0;
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    const bool is_group = drafts[d].group != kNone;
    if (is_group ? groups[drafts[d].group].ops.empty() : drafts[d].step.payload == nullptr) continue;
    positions[d] = left;
    if (left != d) drafts[left] = std::move(drafts[d]);
    ++left;
  }
  drafts.resize(left);
  for (Group& group : groups) group.position = positions[group.position];
  return positions;
}

}  // namespace sr::replay
