// Operators that ask about a tensor and not about its elements. LibTorch's interpreter runs them.
#pragma once

#include <sr/base/thread_modes.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

// See frontend/export/own_operators.hpp. Calls under autocast are not replayed, so the answer of a recorded
// call holds for its replays.
struct AutocastIsOff {
  bool operator()(const at::Tensor&) const { return !ThreadModes::now().autocast(); }
};

namespace registered {

inline const Native<"sr::autocast_is_off(Tensor self) -> bool", AutocastIsOff,
                    Facts<Fact::reads_metadata_only>>
    autocast_is_off;

inline const Operator<"aten::stride", Facts<Fact::reads_metadata_only>> facts_of_stride;
inline const Operator<"aten::is_contiguous", Facts<Fact::reads_metadata_only>> facts_of_is_contiguous;
inline const Operator<"aten::is_neg", Facts<Fact::reads_metadata_only>> facts_of_is_neg;
inline const Operator<"aten::is_signed", Facts<Fact::reads_metadata_only>> facts_of_is_signed;
inline const Operator<"aten::element_size", Facts<Fact::reads_metadata_only>> facts_of_element_size;
inline const Operator<"aten::sym_size", Facts<Fact::reads_metadata_only>> facts_of_sym_size;
inline const Operator<"aten::sym_numel", Facts<Fact::reads_metadata_only>> facts_of_sym_numel;
inline const Operator<"aten::sym_stride", Facts<Fact::reads_metadata_only>> facts_of_sym_stride;
inline const Operator<"aten::can_cast", Facts<Fact::reads_metadata_only>> facts_of_can_cast;
inline const Operator<"aten::get_device", Facts<Fact::reads_metadata_only>> facts_of_get_device;
inline const Operator<"prim::layout", Facts<Fact::reads_metadata_only>> facts_of_layout;
inline const Operator<"prim::is_cpu", Facts<Fact::reads_metadata_only>> facts_of_is_cpu;
inline const Operator<"prim::type", Facts<Fact::reads_metadata_only>> facts_of_type;
inline const Operator<"prim::itemsize", Facts<Fact::reads_metadata_only>> facts_of_itemsize;
inline const Operator<"prim::nbytes", Facts<Fact::reads_metadata_only>> facts_of_nbytes;
inline const Operator<"prim::is_nested", Facts<Fact::reads_metadata_only>> facts_of_is_nested;
inline const Operator<"prim::is_sparse", Facts<Fact::reads_metadata_only>> facts_of_is_sparse;
inline const Operator<"prim::is_sparse_csr", Facts<Fact::reads_metadata_only>> facts_of_is_sparse_csr;
inline const Operator<"prim::is_quantized", Facts<Fact::reads_metadata_only>> facts_of_is_quantized;
inline const Operator<"prim::is_mkldnn", Facts<Fact::reads_metadata_only>> facts_of_is_mkldnn;
inline const Operator<"prim::is_meta", Facts<Fact::reads_metadata_only>> facts_of_is_meta;
inline const Operator<"prim::is_xla", Facts<Fact::reads_metadata_only>> facts_of_is_xla;
inline const Operator<"prim::is_xpu", Facts<Fact::reads_metadata_only>> facts_of_is_xpu;
inline const Operator<"prim::is_mps", Facts<Fact::reads_metadata_only>> facts_of_is_mps;
inline const Operator<"prim::is_vulkan", Facts<Fact::reads_metadata_only>> facts_of_is_vulkan;
inline const Operator<"prim::is_mtia", Facts<Fact::reads_metadata_only>> facts_of_is_mtia;
inline const Operator<"prim::is_ipu", Facts<Fact::reads_metadata_only>> facts_of_is_ipu;
inline const Operator<"prim::is_maia", Facts<Fact::reads_metadata_only>> facts_of_is_maia;
inline const Operator<"aten::is_conj", Facts<Fact::reads_metadata_only>> facts_of_is_conj;
inline const Operator<"aten::is_same_size", Facts<Fact::reads_metadata_only>> facts_of_is_same_size;
inline const Operator<"aten::is_set_to", Facts<Fact::compares_identity>> facts_of_is_set_to;
inline const Operator<"aten::_version", Facts<Fact::asks_hidden_state>> facts_of__version;
inline const Operator<"aten::storage_offset", Facts<Fact::asks_hidden_state>> facts_of_storage_offset;
inline const Operator<"aten::sym_storage_offset", Facts<Fact::asks_hidden_state>> facts_of_sym_storage_offset;
inline const Operator<"aten::_has_same_storage_numel", Facts<Fact::asks_hidden_state>>
    facts_of__has_same_storage_numel;
// What autograd and inference mode know of a tensor is not in a signature either.
inline const Operator<"aten::is_inference", Facts<Fact::asks_hidden_state>> facts_of_is_inference;
inline const Operator<"aten::is_leaf", Facts<Fact::asks_hidden_state>> facts_of_is_leaf;
inline const Operator<"aten::output_nr", Facts<Fact::asks_hidden_state>> facts_of_output_nr;
inline const Operator<"aten::retains_grad", Facts<Fact::asks_hidden_state>> facts_of_retains_grad;

}  // namespace registered
}  // namespace sr::ops
