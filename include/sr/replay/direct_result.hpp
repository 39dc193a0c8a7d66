// A result that a replay writes into a buffer of the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include <sr/replay/result_template.hpp>
#include <sr/replay/trace/tensor_words.hpp>

namespace sr::replay {

struct DirectResult {
  // `keys` are the dispatch keys of the expected buffers, for which the comparison is fastest.
  DirectResult(const ResultTensor& result, const FreshStorage& fresh, c10::DispatchKeySet keys)
      : storage(fresh.storage), bytes(result.bytes), copy_of(fresh.copy_of) {
    detail::add_tensor(detail::kind_of(result.dtype, false), result.dtype, keys, result.sizes, result.strides,
                       words);
  }

  // The address of the first element, for writing: lazily shared bytes (copy on write) become the tensor's
  // own. Null if the buffer is not laid out like the result, or can not be written directly.
  [[gnu::always_inline]] std::byte* address_in(const at::Tensor& buffer) const {
    const c10::TensorImpl* impl = buffer.unsafeGetTensorImpl();
    const std::int64_t* word = words.data();
    if (!detail::match_layout(impl, word) && !is_like(impl)) return nullptr;
    auto* const start = static_cast<std::byte*>(impl->unsafe_storage().mutable_data());
    return start == nullptr ? nullptr : start + impl->storage_offset() * (words[0] >> detail::kCountAt);
  }

  StorageId storage;
  std::size_t bytes;    // never 0
  const void* copy_of;  // a literal, or null
  SignatureWords words;

 private:
  // The same for a buffer with other dispatch keys.
  [[gnu::noinline]] bool is_like(const c10::TensorImpl* impl) const {
    SignatureWords found;
    if (!detail::add_tensor(impl, found)) return false;
    found[1] = words[1];
    return found == words;
  }
};

}  // namespace sr::replay
