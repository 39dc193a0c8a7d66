// Operators that read or write where indices or masks say: index, gather, scatter, masked_fill, index_select.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <algorithm>
#include <optional>

#include <ATen/CPUFunctions.h>
#include <ATen/ExpandUtils.h>
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include <sr/ops/factories/entries.hpp>
#include <sr/ops/indexing/index_select_lowering.hpp>
#include <sr/ops/indexing/layouts.hpp>
#include <sr/ops/indexing/lowering.hpp>
#include <sr/ops/indexing/place_rows_lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

// The result is contiguous, whatever the strides of the input.
template <class Value>
struct MaskedFill {
  static constexpr OutTraits traits{.keeps_strides = true};
  void operator()(const at::Tensor& self, const at::Tensor& mask, const Value& value, at::Tensor& out) const {
    give_sizes(out, at::infer_size_dimvector(mask.sizes(), self.sizes()));
    at::native::copy_(out, self);
    at::native::masked_fill__cpu(out, mask, value);
  }
};

using Indices = const c10::List<std::optional<at::Tensor>>&;

// A mask makes the size of the result depend on data.
struct IndexByTensors {
  static constexpr OutTraits traits{.data_dependent_shape = true};
  void operator()(const at::Tensor& self, Indices indices, at::Tensor& out) const {
    at::cpu::index_out(out, self, indices);
  }
};
struct IndexPut {
  void operator()(const at::Tensor& self, Indices indices, const at::Tensor& values, bool accumulate,
                  at::Tensor& out) const {
    give_sizes(out, self.sizes());
    at::native::copy_(out, self);
    at::native::index_put_(out, indices, values, accumulate);
  }
};

namespace registered {

inline const OutVariant<"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
                        MaskedFill<at::Scalar>, Lower<&lower::masked_fill>,
                        Layouts<&layouts::broadcast_to_dense>, InPlace<at::_ops::masked_fill__Scalar>>
    masked_fill_scalar;
inline const OutVariant<"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
                        MaskedFill<at::Tensor>, Lower<&lower::masked_fill>,
                        Layouts<&layouts::broadcast_to_dense>, InPlace<at::_ops::masked_fill__Tensor>>
    masked_fill_tensor;
inline const OutVariant<"aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
                        IndexByTensors, Lower<&lower::advanced_index>, Layouts<&layouts::index>>
    index_tensor_hacked_twin;
inline const OutVariant<
    "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    IndexPut, Layouts<&layouts::changed_copy<1>>, InPlace<at::_ops::index_put_, &lower::index_put_in_place>>
    index_put;
inline const OutVariant<
    "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor",
    IndexPut, Layouts<&layouts::changed_copy<1>>>
    index_put_hacked_twin;
inline const Native<
    "aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) "
    "-> Tensor(a!)",
    Dispatched<at::_ops::index_put_>, Lower<&lower::index_put_in_place>, Layouts<&layouts::changed_in_parts>>
    index_put_in_place_hacked_twin;
inline const OperatorOf<at::_ops::gather, Lower<&lower::gather>, Layouts<&layouts::gather>> gather;
inline const OperatorOf<at::_ops::index_Tensor, Lower<&lower::advanced_index>, Layouts<&layouts::index>>
    index_Tensor;
inline const OperatorOf<at::_ops::scatter_src, Layouts<&layouts::scatter>> scatter_src;
inline const OperatorOf<at::_ops::scatter_value, Layouts<&layouts::scatter>> scatter_value;
inline const OperatorOf<at::_ops::scatter_add, Layouts<&layouts::scatter>> scatter_add;
inline const OperatorOf<at::_ops::scatter_reduce_two, Layouts<&layouts::scatter>> scatter_reduce_two;
inline const OperatorOf<at::_ops::index_add, Layouts<&layouts::index_add>> index_add;
inline const OperatorOf<at::_ops::index_copy, Layouts<&layouts::index_add>> index_copy;
inline const OperatorOf<at::_ops::searchsorted_Tensor, Layouts<&layouts::searchsorted>> searchsorted_Tensor;
inline const OperatorOf<at::_ops::index_select, Lower<&lower::index_select>, Layouts<&layouts::index_select>>
    index_select;
inline const OperatorOf<at::_ops::bucketize_Tensor, Layouts<&layouts::bucketize>> bucketize_Tensor;
inline const OperatorOf<at::_ops::take_along_dim, Lower<&lower::take_along_dim>,
                        Layouts<&layouts::take_along_dim>>
    take_along_dim;

inline const NewTensorsOf<at::_ops::bucketize_Scalar, Layouts<&replay::layouts::bucketize_number>>
    bucketize_Scalar;

inline const NewTensorsOf<at::_ops::masked_scatter, Layouts<&replay::layouts::broadcast_to_dense>,
                          InPlace<at::_ops::masked_scatter_>>
    masked_scatter;

inline const NewTensorsOf<at::_ops::index_fill_int_Scalar, Layouts<&replay::layouts::changed_copy<2>>,
                          InPlace<at::_ops::index_fill__int_Scalar>>
    index_fill_int_Scalar;

inline const NewTensorsOf<at::_ops::index_fill_int_Tensor, Layouts<&replay::layouts::changed_copy<2>>,
                          InPlace<at::_ops::index_fill__int_Tensor>>
    index_fill_int_Tensor;

inline const NewTensorsOf<at::_ops::one_hot, Layouts<&replay::layouts::one_hot>> one_hot;

inline const NewTensorsOf<at::_ops::argwhere> argwhere;

inline const NativeOf<at::_ops::where> where;

inline const NativeOf<at::_ops::nonzero_numpy> nonzero_numpy;

inline const NativeOf<at::_ops::index_add_, Layouts<&replay::layouts::changed_in_parts>> index_add_;

inline const NativeOf<at::_ops::index_copy_, Lower<&lower::index_copy_in_place>,
                      Layouts<&replay::layouts::changed_in_parts>>
    index_copy_;

inline const NativeOf<at::_ops::scatter__src, Layouts<&replay::layouts::changed_in_parts>> scatter__src;

inline const NativeOf<at::_ops::scatter__value, Layouts<&replay::layouts::changed_in_parts>> scatter__value;

inline const NativeOf<at::_ops::scatter__reduce, Layouts<&replay::layouts::changed_in_parts>> scatter__reduce;

inline const NativeOf<at::_ops::scatter__value_reduce, Layouts<&replay::layouts::changed_in_parts>>
    scatter__value_reduce;

inline const NativeOf<at::_ops::scatter_add_, Layouts<&replay::layouts::changed_in_parts>> scatter_add_;

}  // namespace registered
}  // namespace sr::ops
