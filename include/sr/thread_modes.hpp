// Modes of the calling thread that LibTorch keeps as dispatch keys: inference mode, autocast, and those of
// Python and functorch.
#pragma once

#include <cstdint>

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace sr {

struct ThreadModes {
  std::uint64_t included = 0, excluded = 0;

  static ThreadModes now() {
    const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    return {keys.included_.raw_repr(), keys.excluded_.raw_repr()};
  }

  // torch.autocast('cpu').
  bool autocast() const {
    return !c10::DispatchKeySet(c10::DispatchKeySet::RAW, excluded).has(c10::DispatchKey::AutocastCPU);
  }

  friend bool operator==(const ThreadModes&, const ThreadModes&) = default;
};

}  // namespace sr
