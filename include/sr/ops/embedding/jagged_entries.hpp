// Bags of the parts of jagged features, see tensor_parts.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sr/graph/tensor_parts.hpp>
#include <sr/ops/embedding/layouts.hpp>
#include <sr/ops/embedding/lowering.hpp>
#include <sr/ops/embedding/part_starts_lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

struct PartStarts {
  void operator()(NodeView& node) const {
    std::vector<std::string> messages;
    for (const c10::IValue& message : node.input(3).toListRef()) messages.push_back(message.toStringRef());
    node.output(0) = sr::detail::part_starts(node.input(0).toTensor(), node.input(1).toTensor(),
                                             node.input(2).toIntVector(), messages);
  }
};

struct EmbeddingBagOfPart {
  at::Tensor operator()(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                        bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                        const std::optional<at::Tensor>& weights, bool include_last_offset,
                        std::optional<std::int64_t> padding, const at::Tensor& starts,
                        const std::optional<at::Tensor>& starts_of_weights, std::int64_t part) const {
    return sr::detail::embedding_bag_of_part(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                                             weights, include_last_offset, padding, starts, starts_of_weights,
                                             part);
  }
};

namespace registered {

inline const NodeOp<"sr::part_starts", PartStarts, NodeKind::native, Facts<Fact::makes_new_results>,
                    Lower<&lower::part_starts>, Layouts<&layouts::part_starts>>
    part_starts;
inline const Native<
    "sr::embedding_bag_of_part(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int "
    "mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx, Tensor "
    "starts, "
    "Tensor? starts_of_weights, int part) -> Tensor",
    EmbeddingBagOfPart, Facts<Fact::makes_new_results>, Lower<&lower::embedding_bag>, Layouts<&layouts::bags>>
    embedding_bag_of_part;

}  // namespace registered
}  // namespace sr::ops
