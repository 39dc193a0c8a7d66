// Ops that return views, or possibly the tensor itself, called through the typed handles of ATen. Their
// schemas say which.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/views/complex_layouts.hpp>
#include <sr/ops/views/entries.hpp>
#include <sr/ops/views/layouts.hpp>
#include <sr/ops/views/part_layouts.hpp>
#include <sr/ops/views/reshape_layouts.hpp>
#include <sr/registry/dispatched.hpp>

namespace sr::ops {

// See graph/own_operators.hpp.
struct ViewInDtype {
  at::Tensor operator()(const at::Tensor& self, at::ScalarType dtype) const { return self.view(dtype); }
};

namespace registered {

inline const Native<"sr::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", ViewInDtype,
                    Layouts<&layouts::view_in_dtype>>
    view_in_dtype;
inline const NativeOf<at::_ops::alias, Layouts<&layouts::unchanged>> alias;
inline const NativeOf<at::_ops::adjoint, Layouts<&layouts::transpose_last>> adjoint;
inline const NativeOf<at::_ops::conj, Layouts<&layouts::unchanged>> conj;
inline const NativeOf<at::_ops::_conj, Layouts<&layouts::unchanged>> _conj;
inline const NativeOf<at::_ops::_neg_view> _neg_view;
inline const NativeOf<at::_ops::resolve_conj, Layouts<&layouts::unchanged>> resolve_conj;
inline const NativeOf<at::_ops::resolve_neg, Layouts<&layouts::unchanged>> resolve_neg;
inline const NativeOf<at::_ops::real, Layouts<&layouts::part_of_complex<0>>> real;
inline const NativeOf<at::_ops::imag, Layouts<&layouts::part_of_complex<1>>> imag;
inline const NativeOf<at::_ops::view_as_real, Layouts<&layouts::view_as_real>> view_as_real;
inline const NativeOf<at::_ops::view_as_complex, Layouts<&layouts::view_as_complex>> view_as_complex;
inline const NativeOf<at::_ops::diagonal, Layouts<&layouts::diagonal>> diagonal;
inline const NativeOf<at::_ops::linalg_diagonal, Layouts<&layouts::diagonal>> linalg_diagonal;
inline const NativeOf<at::_ops::numpy_T, Layouts<&layouts::reverse_dims>> numpy_T;
inline const NativeOf<at::_ops::matrix_H, Layouts<&layouts::transpose_last>> matrix_H;
inline const NativeOf<at::_ops::mT, Layouts<&layouts::transpose_last>> mT;
inline const NativeOf<at::_ops::mH, Layouts<&layouts::transpose_last>> mH;
inline const NativeOf<at::_ops::moveaxis_intlist, Layouts<&layouts::move_dims>> moveaxis_intlist;
inline const NativeOf<at::_ops::moveaxis_int, Layouts<&layouts::move_dims>> moveaxis_int;
inline const NativeOf<at::_ops::movedim_int, Layouts<&layouts::move_dims>> movedim_int;
inline const NativeOf<at::_ops::movedim_intlist, Layouts<&layouts::move_dims>> movedim_intlist;
inline const NativeOf<at::_ops::swapaxes, Layouts<&layouts::transpose>> swapaxes;
inline const NativeOf<at::_ops::swapdims, Layouts<&layouts::transpose>> swapdims;
inline const NativeOf<at::_ops::narrow_Tensor> narrow_Tensor;
inline const NativeOf<at::_ops::positive, Layouts<&layouts::unchanged>> positive;
inline const NativeOf<at::_ops::ravel, Layouts<&layouts::ravel>> ravel;
inline const NativeOf<at::_ops::reshape_as, Layouts<&layouts::reshape_as>, Facts<Fact::takes_shape_of_second>>
    reshape_as;
inline const NativeOf<at::_ops::view_as, Layouts<&layouts::view_as>, Facts<Fact::takes_shape_of_second>>
    view_as;
inline const NativeOf<at::_ops::view_dtype, Layouts<&layouts::view_in_dtype>> view_dtype;
inline const NativeOf<at::_ops::unfold, Layouts<&layouts::unfold_dim>> unfold;
inline const NativeOf<at::_ops::unflatten_int, Layouts<&layouts::unflatten>> unflatten_int;
inline const NativeOf<at::_ops::squeeze_dims, Layouts<&layouts::squeeze>> squeeze_dims;
inline const NativeOf<at::_ops::as_strided, Facts<Fact::views_whole_storage>> as_strided;
inline const NativeOf<at::_ops::split_sizes, Layouts<&layouts::split_with_sizes>> split_sizes;
inline const NativeOf<at::_ops::tensor_split_sections, Layouts<&layouts::tensor_split>> tensor_split_sections;
inline const NativeOf<at::_ops::tensor_split_indices, Layouts<&layouts::tensor_split_at>>
    tensor_split_indices;
inline const NativeOf<at::_ops::tensor_split_tensor_indices_or_sections>
    tensor_split_tensor_indices_or_sections;
inline const NativeOf<at::_ops::hsplit_int, Layouts<&layouts::split_dim<1, false>>> hsplit_int;
inline const NativeOf<at::_ops::hsplit_array, Layouts<&layouts::split_dim<1, true>>> hsplit_array;
inline const NativeOf<at::_ops::vsplit_int, Layouts<&layouts::split_dim<0, false>>> vsplit_int;
inline const NativeOf<at::_ops::vsplit_array, Layouts<&layouts::split_dim<0, true>>> vsplit_array;
inline const NativeOf<at::_ops::dsplit_int, Layouts<&layouts::split_dim<2, false>>> dsplit_int;
inline const NativeOf<at::_ops::dsplit_array, Layouts<&layouts::split_dim<2, true>>> dsplit_array;
inline const NativeOf<at::_ops::broadcast_tensors, Layouts<&layouts::expand_all>,
                      Facts<Fact::takes_shape_of_second>>
    broadcast_tensors;
inline const NativeOf<at::_ops::atleast_1d, Layouts<&layouts::at_least<1>>> atleast_1d;
inline const NativeOf<at::_ops::atleast_2d, Layouts<&layouts::at_least<2>>> atleast_2d;
inline const NativeOf<at::_ops::atleast_3d, Layouts<&layouts::at_least<3>>> atleast_3d;

// Ops that are registered with TorchScript only, not with the dispatcher.
inline const Native<"aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", Dispatched<at::_ops::numpy_T>,
                    Layouts<&layouts::reverse_dims>>
    numpy_T_a;
inline const Native<"aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", Dispatched<at::_ops::matrix_H>,
                    Layouts<&layouts::transpose_last>>
    matrix_H_a;
inline const Native<"aten::mT.a(Tensor(a) self) -> Tensor(a)", Dispatched<at::_ops::mT>,
                    Layouts<&layouts::transpose_last>>
    mT_a;
inline const Native<"aten::mH.a(Tensor(a) self) -> Tensor(a)", Dispatched<at::_ops::mH>,
                    Layouts<&layouts::transpose_last>>
    mH_a;
inline const Native<"aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
                    SplitWithSizes, Layouts<&layouts::split_with_sizes>>
    split_by_sizes;

// Without a functor of sr.
inline const Operator<"aten::as_strided_copy", Facts<Fact::reads_whole_storage>> facts_of_as_strided_copy;
inline const Operator<"aten::as_strided_scatter", Facts<Fact::reads_whole_storage>>
    facts_of_as_strided_scatter;
inline const Operator<"aten::set_", Facts<Fact::reads_whole_storage, Fact::takes_storage>> facts_of_set_;
inline const Operator<"aten::set_data", Facts<Fact::takes_storage>> facts_of_set_data;
inline const Operator<"prim::data", Layouts<&layouts::unchanged>> layouts_of_data;
inline const Operator<"aten::as_strided_", Facts<Fact::views_whole_storage>> facts_of_as_strided_;

inline const NativeOf<at::_ops::unsafe_chunk, Layouts<&replay::layouts::chunk>> unsafe_chunk;

inline const NativeOf<at::_ops::unsafe_split_Tensor, Layouts<&replay::layouts::split>> unsafe_split_Tensor;

inline const NativeOf<at::_ops::meshgrid, Layouts<&replay::layouts::meshgrid>,
                      Facts<Fact::takes_shape_of_second>>
    meshgrid;

inline const NativeOf<at::_ops::meshgrid_indexing, Layouts<&replay::layouts::meshgrid>> meshgrid_indexing;

}  // namespace registered
}  // namespace sr::ops
