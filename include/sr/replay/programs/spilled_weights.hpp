// Releases the memory of weights that a program reads in packed form only.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include <sr/base/spillable_memory.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Must be called after all weights have been packed. Spills each weight that all steps of the program read in
// packed form. Only the general path and recordings read the original after that, and both are rare.
inline void spill_packed_weights(Lowering& lowering) {
  const std::vector<TracedStorage>& storages = lowering.storages();
  std::vector<bool> is_read(storages.size(), false), is_packed(storages.size(), false);
  for (const Draft& draft : lowering.drafts()) {
    const void* const from = draft.step.payload != nullptr ? draft.step.payload->packed_from() : nullptr;
    for (const StorageId storage : draft.reads) {
      if (storages[storage].home != Home::weight) continue;
      const at::Tensor& weight = lowering.tensor_of(storage);
      const auto* const begin = static_cast<const std::byte*>(weight.storage().data());
      const bool packs = from >= begin && from < begin + weight.storage().nbytes();
      (packs ? is_packed : is_read)[storage] = true;
    }
  }
  for (StorageId storage = 0; storage < storages.size(); ++storage) {
    if (!is_packed[storage] || is_read[storage]) continue;
    const c10::StorageImpl& weight = *lowering.tensor_of(storage).storage().unsafeGetStorageImpl();
    if (auto* const memory = sr::detail::SpillableMemory::of(weight)) memory->spill();
  }
}

}  // namespace sr::replay
