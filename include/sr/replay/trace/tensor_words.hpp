// The metadata of a tensor that a program depends on, as words. Every call compares the words of all its
// arguments, so comparing one takes only a few instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

namespace sr::replay {

// A flat list of words: modes of the thread, the number of arguments, then each argument depth first. Tensors
// are described by dtype, dispatch keys, sizes and strides; numbers, strings and None by value; containers by
// structure.
using SignatureWords = c10::SmallVector<std::int64_t, 48>;

namespace detail {

enum class Tag : std::uint8_t { tensor, integer, real, boolean, none, string, device, list, tuple, dict };

constexpr int kCountAt = 24;  // bits below it: tag and kind

constexpr std::int64_t head(Tag tag, std::int64_t kind = 0, std::int64_t count = 0) {
  return static_cast<std::int64_t>(tag) | kind << 8 | count << kCountAt;
}

// True if the tensor is dense, strided and on the CPU, and its elements are exactly its bytes (no lazy
// conjugate, for instance, unless `also` has that key).
inline bool is_replayable(const c10::TensorImpl* impl, c10::DispatchKeySet also = {}) {
  const c10::DispatchKeySet plain =
      c10::DispatchKeySet{c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU,
                          c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutocastCPU} |
      also;
  const c10::DispatchKeySet keys = impl->key_set();
  return keys.has(c10::DispatchKey::CPU) && keys.raw_repr() == (keys & plain).raw_repr() &&
         impl->has_storage() && !impl->has_symbolic_sizes_strides() &&
         (impl->numel() == 0 || impl->unsafe_storage().data() != nullptr);
}

inline std::int64_t kind_of(at::ScalarType dtype, bool is_wrapped_number) {
  return static_cast<std::int64_t>(dtype) | (is_wrapped_number ? 128 : 0);
}

// The words of a tensor: a head with the bytes of an element, dispatch keys, dimensions, sizes, strides.
inline void add_tensor(std::int64_t kind, at::ScalarType dtype, c10::DispatchKeySet keys,
                       c10::IntArrayRef sizes, c10::IntArrayRef strides, SignatureWords& words) {
  words.append({head(Tag::tensor, kind, static_cast<std::int64_t>(c10::elementSize(dtype))),
                static_cast<std::int64_t>(keys.raw_repr()), static_cast<std::int64_t>(sizes.size())});
  words.append(sizes.begin(), sizes.end());
  words.append(strides.begin(), strides.end());
}

// Returns false if no program can be made for such a tensor.
inline bool add_tensor(const c10::TensorImpl* impl, SignatureWords& words) {
  if (!is_replayable(impl)) return false;
  const at::ScalarType dtype = impl->dtype().toScalarType();
  add_tensor(kind_of(dtype, impl->is_wrapped_number()), dtype, impl->key_set(), impl->sizes(),
             impl->strides(), words);
  return true;
}

// Compares sizes and strides with the words from `at` on. Unrolled for few dimensions: a loop takes twice as
// long.
[[gnu::always_inline]] inline bool match_dims(const std::int64_t* at, const std::int64_t* sizes,
                                              const std::int64_t* strides, std::size_t dims) {
  const auto same = [=, expected = at + dims](std::size_t d) {
    return at[d] == sizes[d] && expected[d] == strides[d];
  };
  switch (dims) {
    case 4:
      if (!same(3)) return false;
      [[fallthrough]];
    case 3:
      if (!same(2)) return false;
      [[fallthrough]];
    case 2:
      if (!same(1)) return false;
      [[fallthrough]];
    case 1:
      return same(0);
    default:
      break;
  }
  for (std::size_t d = 0; d < dims; ++d) {
    if (!same(d)) return false;
  }
  return true;
}

// Compares the dtype, dispatch keys and number of dimensions of a tensor with the words at `at`. The end need
// not be checked: a head that differs ends the comparison.
[[gnu::always_inline]] inline bool match_head(const c10::TensorImpl* impl, const std::int64_t* at) {
  const std::int64_t kind = kind_of(impl->dtype().toScalarType(), impl->is_wrapped_number());
  if ((at[0] & ((1 << kCountAt) - 1)) != head(Tag::tensor, kind) ||
      at[1] != static_cast<std::int64_t>(impl->key_set().raw_repr())) {
    return false;
  }
  // After the keys: tensors with other keys may have no sizes.
  return at[2] == static_cast<std::int64_t>(impl->sizes().size());
}

// Compares a tensor with the words at `at`, and advances `at`.
[[gnu::always_inline]] inline bool match_layout(const c10::TensorImpl* impl, const std::int64_t*& at) {
  if (!match_head(impl, at)) return false;
  const c10::IntArrayRef sizes = impl->sizes();
  const std::int64_t* const strides = impl->strides().data();
  at += 3;
  if (!match_dims(at, sizes.data(), strides, sizes.size())) return false;
  at += 2 * sizes.size();
  return true;
}

// Writes the address of the tensor's first element to `begin`. `bytes` is the size of an element. Returns
// false if the tensor's storage was freed.
[[gnu::always_inline]] inline bool find_begin(const c10::TensorImpl* impl, std::int64_t bytes,
                                              std::byte*& begin) {
  auto* const start = static_cast<std::byte*>(const_cast<void*>(impl->unsafe_storage().data()));  // read only
  begin = start + impl->storage_offset() * bytes;
  return start != nullptr || impl->numel() == 0;
}

// Compares a tensor with the words at `at` as match_layout does, and finds its first element.
[[gnu::always_inline]] inline bool match_tensor(const c10::TensorImpl* impl, const std::int64_t*& at,
                                                std::byte*& begin) {
  const std::int64_t bytes = at[0] >> kCountAt;  // of an element
  return match_layout(impl, at) && find_begin(impl, bytes, begin);
}

// Does what match_tensor does, but writes the sizes and strides over the words instead of comparing them.
inline bool read_tensor(const c10::TensorImpl* impl, std::int64_t*& at, std::byte*& begin) {
  const std::int64_t bytes = at[0] >> kCountAt;
  if (!match_head(impl, at)) return false;
  at = std::ranges::copy(impl->sizes(), at + 3).out;
  at = std::ranges::copy(impl->strides(), at).out;
  return find_begin(impl, bytes, begin);
}

}  // namespace detail

}  // namespace sr::replay
