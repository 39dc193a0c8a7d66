// Ops that copy: clone, repeat, masked_fill, index and index_put.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <algorithm>
#include <optional>

#include <ATen/CPUFunctions.h>
#include <ATen/ExpandUtils.h>
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include <sr/ops/factories.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/replay/layouts/copies.hpp>
#include <sr/replay/layouts/factories.hpp>
#include <sr/replay/layouts/indexing.hpp>
#include <sr/replay/layouts/tensors.hpp>
#include <sr/replay/layouts/views.hpp>
#include <sr/replay/lowering/comparison.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/index_select.hpp>
#include <sr/replay/lowering/indexing.hpp>

namespace sr::ops {

struct Clone {
  void operator()(const at::Tensor& self, Format format, at::Tensor& out) const {
    give_sizes(out, self.sizes(), format);
    at::native::copy_(out, self);
  }
};

// Views every dimension as two: the repetition, and the input's dimension.
struct Repeat {
  void operator()(const at::Tensor& self, at::IntArrayRef repeats, at::Tensor& out) const {
    const auto dims = static_cast<std::int64_t>(repeats.size());
    TORCH_CHECK(dims >= self.dim(),
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    const std::int64_t added = dims - self.dim();
    c10::SmallVector<std::int64_t, 6> sizes;
    c10::SmallVector<std::int64_t, 12> given, wanted;
    for (std::int64_t d = 0; d < dims; ++d) {
      const std::int64_t size = d < added ? 1 : self.size(d - added);
      const std::int64_t times = repeats[static_cast<std::size_t>(d)];
      sizes.push_back(times * size);
      given.append({1, size});
      wanted.append({times, size});
    }
    give_sizes(out, sizes);
    if (out.numel() == 0) return;
    at::Tensor blocks = out.view(wanted);
    at::native::copy_(blocks, self.reshape(given).expand(wanted));
  }
};

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

inline const OutVariant<"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Clone,
                        Lower<&lower::copy>, Layouts<&layouts::clone>>
    clone_tensor;
inline const OutVariant<"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", Repeat,
                        Layouts<&layouts::repeat<>>>
    repeat;
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
    IndexPut, Layouts<&layouts::changed_copy<1>>, InPlace<at::_ops::index_put_>>
    index_put;
inline const OutVariant<
    "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor",
    IndexPut, Layouts<&layouts::changed_copy<1>>>
    index_put_hacked_twin;
inline const Native<
    "aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) "
    "-> Tensor(a!)",
    Dispatched<at::_ops::index_put_>, Layouts<&layouts::changed_in_parts>>
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
inline const OperatorOf<at::_ops::tril, Layouts<&layouts::like_first>> tril;
inline const OperatorOf<at::_ops::triu, Layouts<&layouts::like_first>> triu;
inline const OperatorOf<at::_ops::glu, Layouts<&layouts::half_of_dim>> glu;
inline const OperatorOf<at::_ops::bucketize_Tensor, Layouts<&layouts::bucketize>> bucketize_Tensor;
inline const OperatorOf<at::_ops::take_along_dim, Lower<&lower::take_along_dim>,
                        Layouts<&layouts::take_along_dim>>
    take_along_dim;

}  // namespace registered
}  // namespace sr::ops
