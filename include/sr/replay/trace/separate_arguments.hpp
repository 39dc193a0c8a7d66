// Copies arguments that share memory, so that a recording sees each in separate memory.
#pragma once

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include <sr/base/identity.hpp>
#include <sr/replay/trace/aliased_results.hpp>
#include <sr/replay/trace/entry.hpp>
#include <sr/replay/trace/tensor_words.hpp>

namespace sr::replay {

// The arguments with copies of the tensors that share a storage with an earlier argument, columns of one
// matrix for example: a trace identifies tensors by their storages. Returns nullopt if none do, or if running
// on copies beside the call itself could make a difference.
//
// A program of the copies serves the arguments themselves, since it writes none of them and has asked for the
// identity of none.
inline std::optional<std::vector<c10::IValue>> separate_arguments(const Entry& entry,
                                                                  std::span<const c10::IValue> args) {
  std::unordered_set<const c10::StorageImpl*> storages;
  bool is_shared = false, is_plain = true;
  for (const c10::IValue& arg : args) {
    sr::detail::each_tensor(arg, [&](const at::Tensor& tensor) {
      is_shared |= !storages.insert(sr::detail::storage_of(tensor)).second;
      is_plain &= detail::is_replayable(tensor.unsafeGetTensorImpl());
    });
  }
  if (!is_shared || !is_plain || !entry.may_run_twice) return std::nullopt;
  storages.clear();
  std::vector<c10::IValue> apart;
  for (const c10::IValue& arg : args) {
    apart.push_back(sr::detail::with_tensors(arg, [&](const at::Tensor& tensor) {
      return storages.insert(sr::detail::storage_of(tensor)).second ? tensor : copy_at(tensor, 0);
    }));
  }
  return apart;
}

}  // namespace sr::replay
