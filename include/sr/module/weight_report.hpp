// What a report says about the weights of a module.
#pragma once

#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>

#include <sr/base/identity.hpp>
#include <sr/base/spillable_memory.hpp>
#include <sr/graph/report.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/module/weight_set.hpp>

namespace sr {

// Adds the bytes of all constants and weights, each storage once, and what was packed of them.
inline void report_weights(const WeightSet& weights, Report& report) {
  std::unordered_set<const c10::StorageImpl*> seen;
  for (const c10::IValue& constant : weights.constants()) {
    detail::each_tensor(constant, [&](const at::Tensor& tensor) {
      if (!tensor.has_storage()) return;
      const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
      if (!seen.insert(&storage).second) return;
      report.weight_bytes += storage.nbytes();
      const auto* const memory = detail::SpillableMemory::of(storage);
      if (memory != nullptr && memory->is_spilled()) report.spilled_weight_bytes += storage.nbytes();
    });
  }
  for (const replay::PackedSum& sum : weights.packed().sums())
    report.packed_weights.push_back({sum.kind, sum.count, sum.bytes});
}

}  // namespace sr
