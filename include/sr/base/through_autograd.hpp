// Calls operators as LibTorch's interpreter calls them, for operators that ask whether a weight requires a
// gradient before they choose how to compute.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace sr::detail {

// While it exists, calls of this thread pass through autograd, which sr's calls otherwise skip. Autograd then
// makes views of a tensor that requires a gradient require one, too. The caller must have switched gradients
// off.
class ThroughAutograd {
 public:
  ThroughAutograd() : before_(c10::impl::tls_local_dispatch_key_set()) {
    c10::impl::LocalDispatchKeySet keys = before_;
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    c10::impl::_force_tls_local_dispatch_key_set(keys);
  }
  ~ThroughAutograd() { c10::impl::_force_tls_local_dispatch_key_set(before_); }
  ThroughAutograd(const ThroughAutograd&) = delete;
  ThroughAutograd& operator=(const ThroughAutograd&) = delete;

 private:
  c10::impl::LocalDispatchKeySet before_;
};

}  // namespace sr::detail
