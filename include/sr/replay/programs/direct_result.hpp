// A result that a replay writes into a buffer of the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include <sr/replay/programs/result_template.hpp>
#include <sr/replay/trace/tensor_words.hpp>

namespace sr::replay {

struct DirectResult {
  DirectResult(std::uint32_t index, const FreshStorage& fresh)
      : tensor(index), storage(fresh.storage), copy_of(fresh.copy_of) {}

  // `keys` are the dispatch keys of the expected buffers, for which the comparison is fastest.
  void settle(const ResultTensor& result, std::size_t result_bytes, c10::DispatchKeySet keys) {
    bytes = result_bytes;
    words.clear();
    detail::add_tensor(detail::kind_of(result.dtype, false), result.dtype, keys, result.sizes, result.strides,
                       words);
  }

  // The address of the first element, for writing: lazily shared bytes (copy on write) become the tensor's
  // own. Null if the buffer is not laid out like the result, or cannot be written directly.
  [[gnu::always_inline]] std::byte* address_in(const at::Tensor& buffer) const {
    const c10::TensorImpl* impl = buffer.unsafeGetTensorImpl();
    const std::int64_t* word = words.data();
    if (!detail::match_layout(impl, word) && !is_like(impl)) return nullptr;
    auto* const start = static_cast<std::byte*>(impl->unsafe_storage().mutable_data());
    return start == nullptr ? nullptr : start + impl->storage_offset() * (words[0] >> detail::kCountAt);
  }

  std::uint32_t tensor;  // of the results
  StorageId storage;
  const void* copy_of;    // a literal, or null
  std::size_t bytes = 0;  // in this call, never 0; and the layout
  SignatureWords words;

 private:
  // Compares a buffer with other dispatch keys.
  [[gnu::noinline]] bool is_like(const c10::TensorImpl* impl) const {
    SignatureWords found;
    if (!detail::add_tensor(impl, found)) return false;
    found[1] = words[1];
    return found == words;
  }
};

}  // namespace sr::replay
