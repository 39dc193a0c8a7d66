// Version counters of tensors that a call writes for its caller. Autograd compares them to notice that a
// value it saved was overwritten.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace sr::detail {

// The counter behind LibTorch's VariableVersion, which is private. Null for inference tensors, which have
// none.
inline std::uint32_t* version_of(const c10::VariableVersion& version) {
  static_assert(sizeof(c10::VariableVersion) == sizeof(void*));
  std::byte* const counter = *reinterpret_cast<std::byte* const*>(&version);
  return counter == nullptr ? nullptr
                            : reinterpret_cast<std::uint32_t*>(counter + sizeof(c10::intrusive_ptr_target));
}

// True if version_of returns the counters of this LibTorch.
inline bool finds_versions() {
  constexpr std::uint32_t kSample = 0x5a5a5a;
  c10::VariableVersion sample(kSample);
  const c10::VariableVersion none(c10::VariableVersion::DISABLED);
  if (*version_of(sample) != kSample || version_of(none) != nullptr) return false;
  sample.bump();
  return *version_of(sample) == kSample + 1;
}
inline const bool kFindsVersions = finds_versions();

// Counts one write, as LibTorch's in-place operators do. A bump of LibTorch's is an atomic read-modify-write,
// which waits for all stores before it; calls of some 50 ns cannot afford that. If two threads write views of
// one tensor at the same time, the version may go up by one instead of two. It still differs from the version
// that autograd saved before.
[[gnu::always_inline]] inline void count_write(const at::Tensor& tensor) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (!kFindsVersions) [[unlikely]] {
    if (impl->version_counter().enabled()) impl->bump_version();
    return;
  }
  std::uint32_t* const version = version_of(impl->version_counter());
  if (version == nullptr) return;
  const std::atomic_ref counter(*version);
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void count_writes(c10::ArrayRef<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors) count_write(tensor);
}

}  // namespace sr::detail
