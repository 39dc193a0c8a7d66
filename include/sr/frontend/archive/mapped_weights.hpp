// Replaces the memory of weights that were read from a TorchScript archive by pages of the mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/core/StorageImpl.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/mapped_file.hpp>
#include <sr/frontend/archive/zip_directory.hpp>
#include <sr/graph/tensor_constants.hpp>

namespace sr::detail {

// LibTorch's reader copies the weights, and does not tell which record one is from. So a storage is given the
// memory of a record that holds the same bytes, which the system pages in when they are read.
class MappedWeights {
 public:
  // `records` are those of `file`.
  MappedWeights(std::shared_ptr<const MappedFile> file, const std::vector<ZipRecord>& records)
      : file_(std::move(file)) {
    for (const ZipRecord& record : records) {
      if (record.size < kLeast) continue;
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(record.stored.data()) % kAlignment == 0;
      if (!record.deflated && is_aligned) by_size_.emplace(record.size, record.stored);
    }
  }

  // The module must have no other holder and must not have been called. Throws ArgumentError if
  // a large one is in the file only in another form, as in archives that were packed again.
  void take(const torch::jit::Module& module) {
    c10::IValue(module._ivalue()).visit([&](const c10::IValue& value) {
      if (value.isTensor()) take(value.toTensor());
      return false;
    });
    for (torch::jit::Function* const function : module._ivalue()->compilation_unit()->get_functions()) {
      auto* const graph_function = torch::jit::tryToGraphFunction(*function);
      if (graph_function == nullptr) continue;
      each_tensor_constant(graph_function->graph()->block(), [&](const at::Tensor& tensor) { take(tensor); });
    }
  }

 private:
  static constexpr std::size_t kLeast = 4096;  // bytes; smaller ones share a page with others
  static constexpr std::uintptr_t kAlignment = 64;

  void take(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.is_cpu()) return;
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    if (storage.nbytes() < kLeast || !seen_.insert(&storage).second) return;
    const auto [first, end] = by_size_.equal_range(storage.nbytes());
    for (auto each = first; each != end; ++each) {
      const std::span<const std::byte> stored = each->second;
      if (std::memcmp(storage.data(), stored.data(), stored.size()) != 0) continue;
      auto owner = std::make_unique<std::shared_ptr<const MappedFile>>(file_);
      // The pages are private to the process, and may be written.
      auto* const data = const_cast<std::byte*>(stored.data());
      storage.set_data_ptr_noswap(at::DataPtr(data, owner.release(), &release, c10::Device(c10::kCPU)));
      return;
    }
    throw ArgumentError("A weight of " + std::to_string(storage.nbytes()) +
                        " bytes cannot be mapped, since the file holds it compressed or not aligned. Write "
                        "the file by torch.jit.save, or load it without mapping.");
  }

  static void release(void* owner) { delete static_cast<std::shared_ptr<const MappedFile>*>(owner); }

  std::shared_ptr<const MappedFile> file_;
  std::multimap<std::uint64_t, std::span<const std::byte>> by_size_;
  std::unordered_set<const c10::StorageImpl*> seen_;
};

}  // namespace sr::detail
