// Operators of FBGEMM on jagged tensors, which models of torchrec call. Nothing of FBGEMM is linked: the
// caller loads its library before the model (in Python, `import fbgemm_gpu`). The general path calls its
// operators; replays run kernels of sr where there are some.
#pragma once

#include <sr/ops/jagged/bounds_check.hpp>
#include <sr/ops/jagged/layouts.hpp>
#include <sr/ops/jagged/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops::registered {

// Known to compute their results of their arguments alone, and to write nothing else.
template <FixedString Name, class... Parts>
using OfFbgemm = Operator<Name, Facts<Fact::makes_new_results>, Parts...>;

inline const OfFbgemm<"fbgemm::asynchronous_complete_cumsum", Lower<&replay::lower::complete_cumsum>,
                      Layouts<&replay::layouts::complete_cumsum>>
    fbgemm_complete_cumsum;
inline const OfFbgemm<"fbgemm::asynchronous_exclusive_cumsum", Lower<&replay::lower::flat_cumsum<false>>,
                      Layouts<&replay::layouts::copy_in_order>>
    fbgemm_exclusive_cumsum;
inline const OfFbgemm<"fbgemm::asynchronous_inclusive_cumsum", Lower<&replay::lower::flat_cumsum<true>>,
                      Layouts<&replay::layouts::copy_in_order>>
    fbgemm_inclusive_cumsum;
inline const OfFbgemm<"fbgemm::jagged_to_padded_dense", Lower<&replay::lower::jagged_to_padded_dense>,
                      Layouts<&replay::layouts::jagged_to_padded_dense>>
    fbgemm_jagged_to_padded_dense;
inline const OfFbgemm<"fbgemm::jagged_to_padded_dense_forward", Lower<&replay::lower::jagged_to_padded_dense>,
                      Layouts<&replay::layouts::jagged_to_padded_dense>>
    fbgemm_jagged_to_padded_dense_forward;
inline const OfFbgemm<"fbgemm::jagged_1d_to_dense", Lower<&replay::lower::jagged_rows_to_dense>,
                      Layouts<&replay::layouts::jagged_rows_to_dense>>
    fbgemm_jagged_1d_to_dense;
inline const OfFbgemm<"fbgemm::jagged_2d_to_dense", Lower<&replay::lower::jagged_rows_to_dense>,
                      Layouts<&replay::layouts::jagged_rows_to_dense>>
    fbgemm_jagged_2d_to_dense;

inline const OfFbgemm<"fbgemm::bounds_check_indices", Lower<&replay::lower::bounds_check>,
                      Layouts<&replay::layouts::bounds_check>>
    fbgemm_bounds_check_indices;  // may write what it is given
inline const OfFbgemm<"fbgemm::dense_to_jagged_forward"> fbgemm_dense_to_jagged_forward;
inline const OfFbgemm<"fbgemm::permute_1D_sparse_data"> fbgemm_permute_1d_sparse_data;
inline const OfFbgemm<"fbgemm::permute_2D_sparse_data"> fbgemm_permute_2d_sparse_data;
inline const OfFbgemm<"fbgemm::expand_into_jagged_permute"> fbgemm_expand_into_jagged_permute;
inline const OfFbgemm<"fbgemm::jagged_index_select"> fbgemm_jagged_index_select;
inline const OfFbgemm<"fbgemm::jagged_dense_elementwise_add"> fbgemm_jagged_dense_elementwise_add;
inline const OfFbgemm<"fbgemm::segment_sum_csr"> fbgemm_segment_sum_csr;
inline const OfFbgemm<"fbgemm::offsets_range"> fbgemm_offsets_range;
inline const OfFbgemm<"fbgemm::lengths_range"> fbgemm_lengths_range;
inline const OfFbgemm<"fbgemm::block_bucketize_sparse_features"> fbgemm_block_bucketize_sparse_features;
inline const OfFbgemm<"fbgemm::permute_pooled_embs"> fbgemm_permute_pooled_embs;
inline const OfFbgemm<"fbgemm::int_nbit_split_embedding_codegen_lookup_function",
                      Layouts<&replay::layouts::pooled_lookup>>
    fbgemm_int_nbit_split_embedding_codegen_lookup_function;

}  // namespace sr::ops::registered
