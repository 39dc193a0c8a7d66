// Modes of the calling thread that LibTorch keeps as excluded dispatch keys: inference mode, autocast, and
// guards that skip autograd.
#pragma once

#include <cstdint>

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

// LibTorch's own declaration is not constinit: every read through it would first check whether the variable
// needs dynamic initialisation.
namespace c10::impl {
extern C10_API constinit thread_local PODLocalDispatchKeySet raw_local_dispatch_key_set;
}

namespace sr {

struct ThreadModes {
  std::uint64_t excluded = 0;

  // The keys as LibTorch stores them, as differences from its defaults, without conversion: every call reads
  // this.
  static ThreadModes now() { return {c10::impl::raw_local_dispatch_key_set.excluded_}; }

  // torch.autocast('cpu').
  bool autocast() const {
    const c10::impl::PODLocalDispatchKeySet keys{0, excluded};
    return !keys.excluded().has(c10::DispatchKey::AutocastCPU);
  }

  friend bool operator==(const ThreadModes&, const ThreadModes&) = default;
};

}  // namespace sr
