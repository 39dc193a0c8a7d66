// embedding and embedding_bag.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <ATen/Functions.h>
#include <ATen/native/Resize.h>

#include <sr/ops/embedding/layouts.hpp>
#include <sr/ops/embedding/lowering.hpp>
#include <sr/ops/indexing/index_select_lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

// Rows of `weight` by index. The arguments for gradients are ignored.
struct Embedding {
  void operator()(const at::Tensor& weight, const at::Tensor& indices, std::int64_t, bool, bool,
                  at::Tensor& out) const {
    TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
    TORCH_CHECK(
        indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
        "got ",
        indices.scalar_type(), " instead");
    c10::SmallVector<std::int64_t, 5> sizes(indices.sizes().begin(), indices.sizes().end());
    sizes.push_back(weight.size(1));
    at::native::resize_output(out, sizes);
    if (indices.dim() == 1) {
      at::native::index_select_out_cpu_(weight, 0, indices, out);
      return;
    }
    at::Tensor rows = out.view({indices.numel(), weight.size(1)});
    at::native::index_select_out_cpu_(weight, 0, indices.reshape(-1), rows);
  }
};

// Inputs: weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset
// and, in the overload with it, padding_idx. Outputs: the bags, and three tensors only training needs.
template <bool HasPaddingIndex>
struct EmbeddingBag {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  void operator()(NodeView& node) const {
    const Argument<std::optional<at::Tensor>> sample_weights(node.input(6));
    const Argument<std::optional<std::int64_t>> padding(HasPaddingIndex ? node.input(8) : c10::IValue());
    auto [bags, bag_of, sizes, largest] =
        HasPaddingIndex
            ? at::embedding_bag(node.input(0).toTensor(), node.input(1).toTensor(), node.input(2).toTensor(),
                                node.input(3).toBool(), node.input(4).toInt(), node.input(5).toBool(),
                                sample_weights.get(), node.input(7).toBool(), padding.get())
            : at::embedding_bag(node.input(0).toTensor(), node.input(1).toTensor(), node.input(2).toTensor(),
                                node.input(3).toBool(), node.input(4).toInt(), node.input(5).toBool(),
                                sample_weights.get(), node.input(7).toBool());
    node.output(0) = std::move(bags);
    node.output(1) = std::move(bag_of);
    node.output(2) = std::move(sizes);
    node.output(3) = std::move(largest);
  }
};

namespace registered {

inline const OutVariant<
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool "
    "sparse=False) -> Tensor",
    Embedding, Lower<&lower::embedding>, Layouts<&layouts::embedding>>
    embedding;
inline const NodeOp<"aten::embedding_bag", EmbeddingBag<false>, NodeKind::native,
                    Lower<&lower::embedding_bag>, Layouts<&layouts::embedding_bag>>
    embedding_bag;
inline const NodeOp<"aten::embedding_bag.padding_idx", EmbeddingBag<true>, NodeKind::native,
                    Lower<&lower::embedding_bag>, Layouts<&layouts::embedding_bag>>
    embedding_bag_padding_idx;
inline const NewTensorsOf<at::_ops::_embedding_bag, Lower<&lower::embedding_bag_without_checks>,
                          Layouts<&layouts::embedding_bag>>
    _embedding_bag;
inline const NewTensorsOf<at::_ops::_embedding_bag_forward_only, Lower<&lower::embedding_bag_without_checks>,
                          Layouts<&layouts::embedding_bag>>
    _embedding_bag_forward_only;

}  // namespace registered
}  // namespace sr::ops
