// Reductions, statistics and distances without a functor of sr.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/reduction/layouts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops::registered {

inline const NewTensorsOf<at::_ops::cdist, Layouts<&replay::layouts::cdist>> cdist;

inline const NewTensorsOf<at::_ops::cosine_similarity, Layouts<&replay::layouts::cosine_similarity>>
    cosine_similarity;

inline const NewTensorsOf<at::_ops::pairwise_distance, Layouts<&replay::layouts::pairwise_distance>>
    pairwise_distance;

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

inline const NewTensorsOf<at::_ops::bincount> bincount;

inline const NewTensorsOf<at::_ops::cov, Layouts<&replay::layouts::covariance>> cov;

inline const NewTensorsOf<at::_ops::corrcoef, Layouts<&replay::layouts::covariance>> corrcoef;

inline const NewTensorsOf<at::_ops::trapezoid_dx, Layouts<&replay::layouts::reduce_dims_away<2>>>
    trapezoid_dx;

inline const NewTensorsOf<at::_ops::argsort, Layouts<&replay::layouts::copy_in_order>> argsort;

inline const NativeOf<at::_ops::sum_to_size> sum_to_size;

// Ops whose results are no tensors.
inline const NativeOf<at::_ops::allclose> allclose;

inline const NativeOf<at::_ops::equal> equal;

// Without a functor of sr.
inline const Operator<"aten::cross_entropy_loss", Facts<Fact::makes_new_results>> facts_of_cross_entropy_loss;

inline const Operator<"aten::linalg_matrix_norm", Facts<Fact::makes_new_results>> facts_of_linalg_matrix_norm;

inline const Operator<"aten::linalg_norm", Facts<Fact::makes_new_results>> facts_of_linalg_norm;

inline const Operator<"aten::msort", Facts<Fact::makes_new_results>> facts_of_msort;

inline const Operator<"aten::nanmean", Facts<Fact::makes_new_results>> facts_of_nanmean;

// Its `.out` overload computes into a buffer of the result's size, where the input's is needed.
inline const Operator<"aten::binary_cross_entropy", Facts<Fact::out_differs>> facts_of_binary_cross_entropy;

}  // namespace sr::ops::registered
