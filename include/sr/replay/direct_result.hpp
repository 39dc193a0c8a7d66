// A result that replays write where the caller says.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include <sr/replay/result_template.hpp>
#include <sr/replay/trace/tensor_words.hpp>

namespace sr::replay {

struct DirectResult {
  // `keys`: those of the buffers that are expected, which are compared fastest.
  DirectResult(const ResultTensor& result, const FreshStorage& fresh, c10::DispatchKeySet keys)
      : storage(fresh.storage), bytes(result.bytes), copy_of(fresh.copy_of) {
    detail::add_tensor(detail::kind_of(result.dtype, false), result.dtype, keys, result.sizes, result.strides,
                       words);
  }

  // Of the first element, to be written: bytes that are shared until somebody writes them no longer are.
  // Null: the buffer is not laid out like the result, or not one to be written as it is.
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
  // With other dispatch keys, which do as well.
  [[gnu::noinline]] bool is_like(const c10::TensorImpl* impl) const {
    SignatureWords found;
    if (!detail::add_tensor(impl, found)) return false;
    found[1] = words[1];
    return found == words;
  }
};

}  // namespace sr::replay
