// Operators that return views.
#pragma once

#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/views/layouts.hpp>
#include <sr/ops/views/part_layouts.hpp>
#include <sr/ops/views/reshape_layouts.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/lowering/copies.hpp>

namespace sr::ops {

struct Transpose {
  at::Tensor operator()(const at::Tensor& self, std::int64_t a, std::int64_t b) const {
    return at::native::transpose(self, a, b);
  }
};
struct T {
  at::Tensor operator()(const at::Tensor& self) const { return at::native::t(self); }
};
struct View {
  at::Tensor operator()(const at::Tensor& self, at::IntArrayRef size) const {
    return at::native::view(self, size);
  }
};
struct Reshape {
  at::Tensor operator()(const at::Tensor& self, at::IntArrayRef shape) const {
    return at::native::reshape_symint(self, c10::fromIntArrayRefSlow(shape));
  }
};
struct Flatten {
  at::Tensor operator()(const at::Tensor& self, std::int64_t first, std::int64_t last) const {
    return at::native::flatten(self, first, last);
  }
};
struct Permute {
  at::Tensor operator()(const at::Tensor& self, at::IntArrayRef dims) const {
    return at::native::permute(self, dims);
  }
};
struct Unsqueeze {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim) const {
    return at::native::unsqueeze(self, dim);
  }
};
struct SqueezeDim {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim) const {
    return at::native::squeeze(self, dim);
  }
};
struct Squeeze {
  at::Tensor operator()(const at::Tensor& self) const { return at::native::squeeze(self); }
};
struct Select {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim, std::int64_t index) const {
    return at::native::select_symint(self, dim, index);
  }
};
struct Slice {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                        std::optional<std::int64_t> end, std::int64_t step) const {
    return at::native::slice(self, dim, start, end, step);
  }
};
struct Narrow {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim, std::int64_t start,
                        std::int64_t length) const {
    return at::narrow(self, dim, start, length);
  }
};
struct Expand {
  at::Tensor operator()(const at::Tensor& self, at::IntArrayRef size, bool implicit) const {
    return at::native::expand(self, size, implicit);
  }
};
struct ExpandAs {
  at::Tensor operator()(const at::Tensor& self, const at::Tensor& other) const {
    return self.expand_as(other);
  }
};
struct Detach {
  at::Tensor operator()(const at::Tensor& self) const { return at::native::alias(self); }
};
struct Split {
  c10::List<at::Tensor> operator()(const at::Tensor& self, std::int64_t size, std::int64_t dim) const {
    return c10::List<at::Tensor>(self.split(size, dim));
  }
};
struct SplitWithSizes {
  c10::List<at::Tensor> operator()(const at::Tensor& self, at::IntArrayRef sizes, std::int64_t dim) const {
    return c10::List<at::Tensor>(self.split_with_sizes(sizes, dim));
  }
};
struct Chunk {
  c10::List<at::Tensor> operator()(const at::Tensor& self, std::int64_t chunks, std::int64_t dim) const {
    return c10::List<at::Tensor>(self.chunk(chunks, dim));
  }
};
struct Unbind {
  c10::List<at::Tensor> operator()(const at::Tensor& self, std::int64_t dim) const {
    return c10::List<at::Tensor>(self.unbind(dim));
  }
};

namespace registered {

inline const Native<"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", Transpose,
                    Layouts<&layouts::transpose>>
    transpose;
inline const Native<"aten::t(Tensor(a) self) -> Tensor(a)", T, Layouts<&layouts::transpose_matrix>> t;
inline const Native<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", View, Layouts<&layouts::view>>
    view;
inline const Native<"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", Reshape,
                    Lower<&lower::copy>, Layouts<&layouts::reshape>, Images<&lower::images_of_any_layout>>
    reshape;
inline const Native<"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
                    Flatten, Lower<&lower::copy>, Layouts<&layouts::flatten>,
                    Images<&lower::images_of_any_layout>>
    flatten;
inline const Native<"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", Permute,
                    Layouts<&layouts::permute>>
    permute;
inline const Native<"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", Unsqueeze,
                    Layouts<&layouts::unsqueeze>>
    unsqueeze;
inline const Native<"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", SqueezeDim,
                    Layouts<&layouts::squeeze>>
    squeeze_dim;
inline const Native<"aten::squeeze(Tensor(a) self) -> Tensor(a)", Squeeze, Layouts<&layouts::squeeze>>
    squeeze;
inline const Native<"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", Select,
                    Layouts<&layouts::select>>
    select;
inline const Native<
    "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
    "Tensor(a)",
    Slice, Layouts<&layouts::slice>>
    slice;
inline const Native<"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", Narrow,
                    Layouts<&layouts::narrow>>
    narrow;
inline const Native<"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
                    Expand, Layouts<&layouts::expand>>
    expand;
inline const Native<"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", ExpandAs,
                    Facts<Fact::takes_shape_of_second>, Layouts<&layouts::expand_as>>
    expand_as;
inline const Native<"aten::detach(Tensor(a) self) -> Tensor(a)", Detach, Layouts<&layouts::unchanged>> detach;
inline const Native<"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
                    Split, Layouts<&layouts::split>>
    split;
inline const Native<
    "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    SplitWithSizes, Layouts<&layouts::split_with_sizes>>
    split_with_sizes;
inline const Native<"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", Chunk,
                    Layouts<&layouts::chunk>>
    chunk;
inline const Native<"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", Unbind,
                    Layouts<&layouts::unbind>>
    unbind;

}  // namespace registered
}  // namespace sr::ops
