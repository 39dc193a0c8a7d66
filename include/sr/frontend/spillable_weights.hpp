// Puts the weights of a loaded module into memory that can be spilled.
#pragma once

#include <cstddef>
#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

#include <sr/base/identity.hpp>
#include <sr/base/spillable_memory.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/graph/tensor_constants.hpp>

namespace sr::detail {

// In bytes. Smaller weights stay in the heap: a mapping takes whole pages, and a Linux process may have
// 65,530 mappings by default.
inline constexpr std::size_t kLeastSpilled = std::size_t{64} << 10;

// Must be called before the first call of the module, and only if no caller holds its weights. Throws
// std::bad_alloc.
inline void make_weights_spillable(const LoadedGraph& loaded) {
  std::unordered_set<const c10::StorageImpl*> seen;
  const auto adopt = [&](const at::Tensor& tensor) {
    if (!can_be_weight(tensor)) return;
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    if (storage.nbytes() < kLeastSpilled || !seen.insert(&storage).second) return;
    // A result may share this storage, and the caller may write to results at any time.
    if (loaded.known.contains(&storage)) return;
    // A storage with another deleter belongs to a mapped file or to the caller.
    if (storage.data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter())
      SpillableMemory::adopt(storage);
  };
  for (const WeightSource& source : loaded.weights) each_tensor(source.now(), adopt);
  each_tensor_constant(loaded.graph->block(), adopt);
}

}  // namespace sr::detail
