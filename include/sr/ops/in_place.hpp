// Operators in place whose functional form has no entry. The others are parts of an entry, InPlace.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>
#include <sr/replay/layouts/pointwise.hpp>

namespace sr::ops {

namespace registered {

inline const NativeOf<at::_ops::index_add_, Layouts<&replay::layouts::changed_in_parts>> index_add_;
inline const NativeOf<at::_ops::index_copy_, Layouts<&replay::layouts::changed_in_parts>> index_copy_;
inline const NativeOf<at::_ops::scatter__src, Layouts<&replay::layouts::changed_in_parts>> scatter__src;
inline const NativeOf<at::_ops::scatter__value, Layouts<&replay::layouts::changed_in_parts>> scatter__value;
inline const NativeOf<at::_ops::scatter__reduce, Layouts<&replay::layouts::changed_in_parts>> scatter__reduce;
inline const NativeOf<at::_ops::scatter__value_reduce, Layouts<&replay::layouts::changed_in_parts>>
    scatter__value_reduce;
inline const NativeOf<at::_ops::scatter_add_, Layouts<&replay::layouts::changed_in_parts>> scatter_add_;

}  // namespace registered
}  // namespace sr::ops
