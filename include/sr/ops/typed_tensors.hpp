// Ops that return new tensors and have no out overload, called through the typed handles of ATen: one
// allocation and no boxing.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>
#include <sr/replay/layouts/einsum.hpp>
#include <sr/replay/layouts/factories.hpp>
#include <sr/replay/layouts/indexing.hpp>
#include <sr/replay/layouts/numbers.hpp>
#include <sr/replay/layouts/parts.hpp>
#include <sr/replay/layouts/tensors.hpp>
#include <sr/replay/layouts/windows.hpp>
#include <sr/replay/lowering/einsum.hpp>
#include <sr/replay/lowering/rearranging.hpp>

namespace sr::ops {

namespace registered {

inline const NewTensorsOf<at::_ops::conv_transpose1d, Layouts<&replay::layouts::transposed_convolution<1>>>
    conv_transpose1d;
inline const NewTensorsOf<at::_ops::conv_transpose2d_input,
                          Layouts<&replay::layouts::transposed_convolution<2>>>
    conv_transpose2d_input;
inline const NewTensorsOf<at::_ops::conv_transpose3d_input,
                          Layouts<&replay::layouts::transposed_convolution<3>>>
    conv_transpose3d_input;
inline const NewTensorsOf<at::_ops::max_pool3d, Layouts<&replay::layouts::pool<3, 4, 5>>> max_pool3d;
inline const NewTensorsOf<at::_ops::adaptive_avg_pool1d, Layouts<&replay::layouts::adaptive_pool>>
    adaptive_avg_pool1d;
inline const NewTensorsOf<at::_ops::adaptive_max_pool1d, Layouts<&replay::layouts::adaptive_pool_twice>>
    adaptive_max_pool1d;
inline const NewTensorsOf<at::_ops::cdist, Layouts<&replay::layouts::cdist>> cdist;
inline const NewTensorsOf<at::_ops::bilinear> bilinear;
inline const NewTensorsOf<at::_ops::cosine_similarity, Layouts<&replay::layouts::cosine_similarity>>
    cosine_similarity;
inline const NewTensorsOf<at::_ops::pairwise_distance, Layouts<&replay::layouts::pairwise_distance>>
    pairwise_distance;
inline const NewTensorsOf<at::_ops::grid_sampler, Layouts<&replay::layouts::grid_sampler>> grid_sampler;
inline const NewTensorsOf<at::_ops::grid_sampler_2d, Layouts<&replay::layouts::grid_sampler>> grid_sampler_2d;
inline const NewTensorsOf<at::_ops::affine_grid_generator, Layouts<&replay::layouts::affine_grid>>
    affine_grid_generator;
inline const NewTensorsOf<at::_ops::celu> celu;
inline const NewTensorsOf<at::_ops::isinf> isinf;
inline const NewTensorsOf<at::_ops::isfinite> isfinite;
inline const NewTensorsOf<at::_ops::isclose, Layouts<&replay::layouts::pointwise>> isclose;
inline const NewTensorsOf<at::_ops::var_mean, Layouts<&replay::layouts::reduce_all_twice>> var_mean;
inline const NewTensorsOf<at::_ops::var_mean_dim, Layouts<&replay::layouts::reduce_dims_twice_at<1, 3>>>
    var_mean_dim;
inline const NewTensorsOf<at::_ops::var_mean_correction,
                          Layouts<&replay::layouts::reduce_dims_twice_at<1, 3>>>
    var_mean_correction;
inline const NewTensorsOf<at::_ops::std_mean, Layouts<&replay::layouts::reduce_all_twice>> std_mean;
inline const NewTensorsOf<at::_ops::std_mean_dim, Layouts<&replay::layouts::reduce_dims_twice_at<1, 3>>>
    std_mean_dim;
inline const NewTensorsOf<at::_ops::std_mean_correction,
                          Layouts<&replay::layouts::reduce_dims_twice_at<1, 3>>>
    std_mean_correction;
inline const NewTensorsOf<at::_ops::trace, Layouts<&replay::layouts::reduce_all>> trace;
inline const NewTensorsOf<at::_ops::median, Layouts<&replay::layouts::reduce_all>> median;
// These call the functional overload: for several quantiles its result is a transposed view, while `.out`
// writes a contiguous tensor.
inline const NewTensorsOf<at::_ops::quantile, Facts<Fact::makes_new_results>> quantile;
inline const NewTensorsOf<at::_ops::nanquantile, Facts<Fact::makes_new_results>> nanquantile;
inline const NewTensorsOf<at::_ops::bucketize_Scalar, Layouts<&replay::layouts::bucketize_number>>
    bucketize_Scalar;
inline const NewTensorsOf<at::_ops::bincount> bincount;
inline const NewTensorsOf<at::_ops::cov, Layouts<&replay::layouts::covariance>> cov;
inline const NewTensorsOf<at::_ops::corrcoef, Layouts<&replay::layouts::covariance>> corrcoef;
inline const NewTensorsOf<at::_ops::rand, Layouts<&replay::layouts::of_sizes<0>>> rand;
inline const NewTensorsOf<at::_ops::randn, Layouts<&replay::layouts::of_sizes<0>>> randn;
inline const NewTensorsOf<at::_ops::randint, Layouts<&replay::layouts::drawn<1>>> randint;
inline const NewTensorsOf<at::_ops::randint_low, Layouts<&replay::layouts::drawn<2>>> randint_low;
inline const NewTensorsOf<at::_ops::randperm, Layouts<&replay::layouts::of_counts<1>>> randperm;
inline const NewTensorsOf<at::_ops::rand_like, Layouts<&replay::layouts::like_in_format>> rand_like;
inline const NewTensorsOf<at::_ops::randn_like, Layouts<&replay::layouts::like_in_format>> randn_like;
inline const NewTensorsOf<at::_ops::hann_window, Layouts<&replay::layouts::of_counts<1>>> hann_window;
inline const NewTensorsOf<at::_ops::eye, Layouts<&replay::layouts::square>> eye;
inline const NewTensorsOf<at::_ops::eye_m, Layouts<&replay::layouts::of_counts<2>>> eye_m;

// Ops that rearrange elements.
inline const NewTensorsOf<at::_ops::pixel_shuffle, Layouts<&replay::layouts::pixel_shuffle>> pixel_shuffle;
inline const NewTensorsOf<at::_ops::pixel_unshuffle, Layouts<&replay::layouts::pixel_unshuffle>>
    pixel_unshuffle;
inline const NewTensorsOf<at::_ops::channel_shuffle, Layouts<&replay::layouts::suggested_with_number>>
    channel_shuffle;
inline const NewTensorsOf<at::_ops::masked_scatter, Layouts<&replay::layouts::broadcast_to_dense>,
                          InPlace<at::_ops::masked_scatter_>>
    masked_scatter;
inline const NewTensorsOf<at::_ops::fill_Scalar, Layouts<&replay::layouts::copy_in_order>,
                          InPlace<at::_ops::fill__Scalar>>
    fill_Scalar;
inline const NewTensorsOf<at::_ops::fill_Tensor, Layouts<&replay::layouts::filled>,
                          InPlace<at::_ops::fill__Tensor>>
    fill_Tensor;
inline const NewTensorsOf<at::_ops::zero, Layouts<&replay::layouts::copy_in_order>, InPlace<at::_ops::zero_>>
    zero;
inline const NewTensorsOf<at::_ops::copy, InPlace<at::_ops::copy_>> copy;
inline const NewTensorsOf<at::_ops::index_fill_int_Scalar, Layouts<&replay::layouts::changed_copy<2>>,
                          InPlace<at::_ops::index_fill__int_Scalar>>
    index_fill_int_Scalar;
inline const NewTensorsOf<at::_ops::index_fill_int_Tensor, Layouts<&replay::layouts::changed_copy<2>>,
                          InPlace<at::_ops::index_fill__int_Tensor>>
    index_fill_int_Tensor;
inline const NewTensorsOf<at::_ops::roll, Lower<&replay::lower::roll>, Layouts<&replay::layouts::roll>> roll;
inline const NewTensorsOf<at::_ops::flip, Layouts<&replay::layouts::copy_in_order>> flip;
inline const NewTensorsOf<at::_ops::fliplr, Layouts<&replay::layouts::copy_in_order>> fliplr;
inline const NewTensorsOf<at::_ops::flipud, Layouts<&replay::layouts::copy_in_order>> flipud;
inline const NewTensorsOf<at::_ops::rot90, Layouts<&replay::layouts::rotate>> rot90;
inline const NewTensorsOf<at::_ops::trapezoid_dx, Layouts<&replay::layouts::reduce_dims_away<2>>>
    trapezoid_dx;
inline const NewTensorsOf<at::_ops::tile, Layouts<&replay::layouts::repeat<true>>> tile;
inline const NewTensorsOf<at::_ops::repeat_interleave_Tensor> repeat_interleave_Tensor;
inline const NewTensorsOf<at::_ops::repeat_interleave_self_Tensor> repeat_interleave_self_Tensor;
inline const NewTensorsOf<at::_ops::repeat_interleave_self_int, Lower<&replay::lower::repeat_interleave>,
                          Layouts<&replay::layouts::repeat_interleave>>
    repeat_interleave_self_int;
inline const NewTensorsOf<at::_ops::constant_pad_nd, Lower<&replay::lower::constant_pad>,
                          Layouts<&replay::layouts::padded>>
    constant_pad_nd;
inline const NewTensorsOf<at::_ops::one_hot, Layouts<&replay::layouts::one_hot>> one_hot;
inline const NewTensorsOf<at::_ops::argsort, Layouts<&replay::layouts::copy_in_order>> argsort;
inline const NewTensorsOf<at::_ops::argwhere> argwhere;
inline const NewTensorsOf<at::_ops::diag_embed, Layouts<&replay::layouts::diag_embed>> diag_embed;
inline const NewTensorsOf<at::_ops::block_diag, Layouts<&replay::layouts::block_diag>> block_diag;

// Ops whose results may share the bytes of an argument.
inline const NativeOf<at::_ops::pad, Lower<&replay::lower::pad>, Layouts<&replay::layouts::pad>> pad;
inline const NativeOf<at::_ops::einsum, Lower<&replay::lower::einsum>, Layouts<&replay::layouts::einsum>>
    einsum;
inline const NativeOf<at::_ops::diff, Layouts<&replay::layouts::difference>> diff;
inline const NativeOf<at::_ops::where> where;
inline const NativeOf<at::_ops::nonzero_numpy> nonzero_numpy;
inline const NativeOf<at::_ops::unsafe_chunk, Layouts<&replay::layouts::chunk>> unsafe_chunk;
inline const NativeOf<at::_ops::unsafe_split_Tensor, Layouts<&replay::layouts::split>> unsafe_split_Tensor;
inline const NativeOf<at::_ops::meshgrid, Layouts<&replay::layouts::meshgrid>,
                      Facts<Fact::takes_shape_of_second>>
    meshgrid;
inline const NativeOf<at::_ops::meshgrid_indexing, Layouts<&replay::layouts::meshgrid>> meshgrid_indexing;
inline const NativeOf<at::_ops::sum_to_size> sum_to_size;

// Ops whose results are no tensors.
inline const NativeOf<at::_ops::allclose> allclose;
inline const NativeOf<at::_ops::equal> equal;
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

// Without a functor of sr.
inline const Operator<"aten::cross_entropy_loss", Facts<Fact::makes_new_results>> facts_of_cross_entropy_loss;
inline const Operator<"aten::column_stack", Facts<Fact::makes_new_results>> facts_of_column_stack;
inline const Operator<"aten::dstack", Facts<Fact::makes_new_results>> facts_of_dstack;
inline const Operator<"aten::hstack", Facts<Fact::makes_new_results>> facts_of_hstack;
inline const Operator<"aten::inner", Facts<Fact::makes_new_results>> facts_of_inner;
inline const Operator<"aten::kron", Facts<Fact::makes_new_results>> facts_of_kron;
inline const Operator<"aten::linalg_matrix_norm", Facts<Fact::makes_new_results>> facts_of_linalg_matrix_norm;
inline const Operator<"aten::linalg_multi_dot", Facts<Fact::makes_new_results>> facts_of_linalg_multi_dot;
inline const Operator<"aten::linalg_norm", Facts<Fact::makes_new_results>> facts_of_linalg_norm;
inline const Operator<"aten::msort", Facts<Fact::makes_new_results>> facts_of_msort;
inline const Operator<"aten::nanmean", Facts<Fact::makes_new_results>> facts_of_nanmean;
inline const Operator<"aten::row_stack", Facts<Fact::makes_new_results>> facts_of_row_stack;
inline const Operator<"aten::vstack", Facts<Fact::makes_new_results>> facts_of_vstack;
// Its `.out` overload computes into a buffer of the result's size, where the input's is needed.
inline const Operator<"aten::binary_cross_entropy", Facts<Fact::out_differs>> facts_of_binary_cross_entropy;
// The functional overload returns real tensors unchanged.
inline const Operator<"aten::conj_physical", Facts<Fact::out_differs>> facts_of_conj_physical;
// The `.out` overload leaves its output empty.
inline const Operator<"aten::fft_ihfftn", Facts<Fact::out_differs>> facts_of_fft_ihfftn;
// The `.out` overload broadcasts the previous sizes of its output against those of its arguments.
inline const Operator<"aten::normal", Facts<Fact::out_differs>> facts_of_normal;

}  // namespace registered
}  // namespace sr::ops
