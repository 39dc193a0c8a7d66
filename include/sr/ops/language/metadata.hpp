// Operators that read the metadata of tensors: sizes, dtype, device and so on.
#pragma once

#include <sr/base/thread_modes.hpp>
#include <sr/ops/language/layouts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

// See graph/own_operators.hpp. Calls under autocast are not replayed, so the answer of a recorded
// call holds for its replays.
struct AutocastIsOff {
  bool operator()(const at::Tensor&) const { return !ThreadModes::now().autocast(); }
};

// Operators whose answers do not depend on sizes.
template <FixedString Name>
using WithoutSizes =
    Operator<Name, Facts<Fact::reads_metadata_only>, Layouts<&replay::layouts::no_matter_of_sizes>>;

struct Sizes {
  c10::List<std::int64_t> operator()(const at::Tensor& self) const {
    return c10::List<std::int64_t>(self.sizes());
  }
};

struct SizeOf {
  std::int64_t operator()(const at::Tensor& self, std::int64_t dim) const { return self.size(dim); }
};

struct Dim {
  std::int64_t operator()(const at::Tensor& self) const { return self.dim(); }
};

struct Numel {
  std::int64_t operator()(const at::Tensor& self) const { return self.numel(); }
};

struct DeviceOf {
  at::Device operator()(const at::Tensor& self) const { return self.device(); }
};

struct IsCuda {
  bool operator()(const at::Tensor& self) const { return self.is_cuda(); }
};

namespace registered {

inline const Native<"sr::autocast_is_off(Tensor self) -> bool", AutocastIsOff,
                    Facts<Fact::reads_metadata_only>, Layouts<&replay::layouts::no_matter_of_sizes>>
    autocast_is_off;

inline const Operator<"aten::stride", Facts<Fact::reads_metadata_only>, Layouts<&replay::layouts::strides>>
    facts_of_stride;
inline const Operator<"aten::stride.int", Layouts<&replay::layouts::stride>> layouts_of_stride;
inline const Operator<"aten::is_contiguous", Facts<Fact::reads_metadata_only>,
                      Layouts<&replay::layouts::asks_whether_dense>>
    facts_of_is_contiguous;
inline const WithoutSizes<"aten::is_neg"> facts_of_is_neg;
inline const WithoutSizes<"aten::is_signed"> facts_of_is_signed;
inline const WithoutSizes<"aten::element_size"> facts_of_element_size;
inline const Operator<"aten::sym_size", Facts<Fact::reads_metadata_only>> facts_of_sym_size;
inline const Operator<"aten::sym_numel", Facts<Fact::reads_metadata_only>> facts_of_sym_numel;
inline const Operator<"aten::sym_stride", Facts<Fact::reads_metadata_only>> facts_of_sym_stride;
inline const Operator<"aten::can_cast", Facts<Fact::reads_metadata_only>> facts_of_can_cast;
inline const WithoutSizes<"aten::get_device"> facts_of_get_device;
inline const WithoutSizes<"prim::layout"> facts_of_layout;
inline const WithoutSizes<"prim::is_cpu"> facts_of_is_cpu;
inline const WithoutSizes<"prim::type"> facts_of_type;
inline const WithoutSizes<"prim::itemsize"> facts_of_itemsize;
inline const Operator<"prim::nbytes", Facts<Fact::reads_metadata_only>> facts_of_nbytes;
inline const WithoutSizes<"prim::is_nested"> facts_of_is_nested;
inline const WithoutSizes<"prim::is_sparse"> facts_of_is_sparse;
inline const WithoutSizes<"prim::is_sparse_csr"> facts_of_is_sparse_csr;
inline const WithoutSizes<"prim::is_quantized"> facts_of_is_quantized;
inline const WithoutSizes<"prim::is_mkldnn"> facts_of_is_mkldnn;
inline const WithoutSizes<"prim::is_meta"> facts_of_is_meta;
inline const WithoutSizes<"prim::is_xla"> facts_of_is_xla;
inline const WithoutSizes<"prim::is_xpu"> facts_of_is_xpu;
inline const WithoutSizes<"prim::is_mps"> facts_of_is_mps;
inline const WithoutSizes<"prim::is_vulkan"> facts_of_is_vulkan;
inline const WithoutSizes<"prim::is_mtia"> facts_of_is_mtia;
inline const WithoutSizes<"prim::is_ipu"> facts_of_is_ipu;
inline const WithoutSizes<"prim::is_maia"> facts_of_is_maia;
inline const WithoutSizes<"aten::is_conj"> facts_of_is_conj;
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

inline const NativeOf<at::_ops::is_floating_point, Facts<Fact::reads_metadata_only>,
                      Layouts<&replay::layouts::no_matter_of_sizes>>
    is_floating_point;

inline const NativeOf<at::_ops::is_complex, Facts<Fact::reads_metadata_only>,
                      Layouts<&replay::layouts::no_matter_of_sizes>>
    is_complex;

inline const NativeOf<at::_ops::result_type_Tensor, Facts<Fact::reads_metadata_only>,
                      Layouts<&replay::layouts::no_matter_of_sizes>>
    result_type_Tensor;

inline const NativeOf<at::_ops::result_type_Scalar, Layouts<&replay::layouts::no_matter_of_sizes>>
    result_type_Scalar;

inline const Native<"aten::size(Tensor self) -> int[]", Sizes, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::sizes>>
    sizes;

inline const Native<"aten::size.int(Tensor self, int dim) -> int", SizeOf, Layouts<&replay::layouts::size>>
    size_of;

inline const Native<"aten::dim(Tensor self) -> int", Dim, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    dim;

inline const Native<"aten::numel(Tensor self) -> int", Numel, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::count>>
    numel;

inline const Native<"prim::device(Tensor a) -> Device", DeviceOf, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    device_of;

inline const Native<"prim::is_cuda(Tensor a) -> bool", IsCuda, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    is_cuda;

}  // namespace registered
}  // namespace sr::ops
