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

// Smaller weights stay where they are: a mapping takes whole pages, and a process may have 65,530 of them.
inline constexpr std::size_t kLeastSpilled = std::size_t{64} << 10;

// `loaded` is of a module that nobody else holds, and nobody has called it. Throws std::bad_alloc.
inline void make_weights_spillable(const LoadedGraph& loaded) {
  std::unordered_set<const c10::StorageImpl*> seen;
  const auto adopt = [&](const at::Tensor& tensor) {
    if (!can_be_weight(tensor)) return;
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    if (storage.nbytes() < kLeastSpilled || !seen.insert(&storage).second) return;
    // The caller may write to results at any time.
    if (loaded.known.contains(&storage)) return;
    // Others belong to a file that is mapped, or to somebody else.
    if (storage.data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter())
      SpillableMemory::adopt(storage);
  };
  for (const WeightSource& source : loaded.weights) each_tensor(source.now(), adopt);
  each_tensor_constant(loaded.graph->block(), adopt);
}

}  // namespace sr::detail
