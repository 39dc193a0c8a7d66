// How much memory the weights of a module take, as they were loaded.
#pragma once

#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>

#include <sr/base/identity.hpp>
#include <sr/base/spillable_memory.hpp>
#include <sr/memory/request.hpp>
#include <sr/module/weight_set.hpp>

namespace sr {

struct WeightBytes {
  memory::Bytes all = 0;      // of all constants and weights; a storage counts once
  memory::Bytes spilled = 0;  // of these in a temporary file
};

inline WeightBytes weight_bytes(const WeightSet& weights) {
  WeightBytes bytes;
  std::unordered_set<const c10::StorageImpl*> seen;
  for (const c10::IValue& constant : weights.constants()) {
    detail::each_tensor(constant, [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
      if (!seen.insert(&storage).second) return;
      bytes.all += storage.nbytes();
      const auto* const memory = detail::SpillableMemory::of(storage);
      if (memory != nullptr && memory->is_spilled()) bytes.spilled += storage.nbytes();
    });
  }
  return bytes;
}

}  // namespace sr
