// Arguments that share memory, as a recording needs them: each with memory of its own.
#pragma once

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include <ATen/ops/empty_strided.h>

#include <sr/base/identity.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr::replay {

// The arguments with copies of the tensors that share a storage with an earlier argument, parts of one batch
// for example: a trace identifies tensors by their storages. Nothing if none do, or if running the module on
// copies beside the call itself could make a difference.
//
// A program of the copies serves the arguments themselves, since it writes none of them and has asked for the
// identity of none.
inline std::optional<std::vector<c10::IValue>> separate_arguments(const PreparedModule& module,
                                                                  std::span<const c10::IValue> args) {
  std::unordered_set<const c10::StorageImpl*> storages;
  bool is_shared = false, is_nested = false;
  for (const c10::IValue& arg : args) {
    sr::detail::each_tensor(arg, [&](const at::Tensor& tensor) {
      if (storages.insert(sr::detail::storage_of(tensor)).second) return;
      is_shared = true;
      is_nested |= !arg.isTensor() || !tensor.is_non_overlapping_and_dense();
    });
  }
  if (!is_shared || is_nested || !module.written_inputs.empty() || !body_is_pure(module.graph->block()))
    return std::nullopt;
  storages.clear();
  std::vector<c10::IValue> apart;
  for (const c10::IValue& arg : args) {
    bool is_first = true;
    sr::detail::each_tensor(arg, [&](const at::Tensor& tensor) {
      is_first &= storages.insert(sr::detail::storage_of(tensor)).second || !arg.isTensor();
    });
    if (is_first) {
      apart.push_back(arg);
    } else {
      const at::Tensor& tensor = arg.toTensor();
      apart.emplace_back(at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).copy_(tensor));
    }
  }
  return apart;
}

}  // namespace sr::replay
