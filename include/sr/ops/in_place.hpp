// Operators in place whose functional form has no entry. The others are parts of an entry, InPlace.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>

namespace sr::ops {

namespace registered {

inline const NativeOf<at::_ops::index_add_> index_add_;
inline const NativeOf<at::_ops::index_copy_> index_copy_;
inline const NativeOf<at::_ops::scatter__src> scatter__src;
inline const NativeOf<at::_ops::scatter__value> scatter__value;
inline const NativeOf<at::_ops::scatter__reduce> scatter__reduce;
inline const NativeOf<at::_ops::scatter__value_reduce> scatter__value_reduce;
inline const NativeOf<at::_ops::scatter_add_> scatter_add_;

}  // namespace registered
}  // namespace sr::ops
