// Operators that make tensors: full, arange, empty, random numbers.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <optional>

#include <ATen/CPUFunctions.h>
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/ops/factories/layouts.hpp>
#include <sr/ops/factories/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/argument_of_handle.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

// The tensor options, by which LibTorch has allocated the output.
using Option = const c10::IValue&;
using Format = std::optional<at::MemoryFormat>;

// Resizes the output unless it has these sizes. An output of the right sizes also has the right layout: only
// a memory format that is named in the call gives another than the standard one.
inline void give_sizes(at::Tensor& out, at::IntArrayRef sizes, Format format = {}) {
  if (out.sizes().equals(sizes)) return;
  if (format == at::MemoryFormat::Preserve) format.reset();
  for (const std::int64_t size : sizes) {
    if (size < 0) at::empty(sizes);  // throws what the interpreter throws
  }
  at::native::resize_(out, sizes, format);
}

inline void fill(at::Tensor& out, at::IntArrayRef sizes, const at::Scalar& value, Format format = {}) {
  give_sizes(out, sizes, format);
  at::native::fill_(out, value);
}

struct Zeros {
  void operator()(at::IntArrayRef size, Option, Option, Option, Option, at::Tensor& out) const {
    for (const std::int64_t one : size) {
      if (one < 0) at::zeros(size);  // its message differs from that of empty
    }
    fill(out, size, 0);
  }
};
struct Ones {
  void operator()(at::IntArrayRef size, Option, Option, Option, Option, at::Tensor& out) const {
    fill(out, size, 1);
  }
};
template <int Value>
struct ConstantLike {
  void operator()(const at::Tensor& self, Option, Option, Option, Option, Format format,
                  at::Tensor& out) const {
    fill(out, self.sizes(), Value, format);
  }
};
template <int Value>
struct NewConstant {
  void operator()(const at::Tensor&, at::IntArrayRef size, Option, Option, Option, Option,
                  at::Tensor& out) const {
    fill(out, size, Value);
  }
};

struct Full {
  void operator()(at::IntArrayRef size, const at::Scalar& value, Option, Option, Option, Option,
                  at::Tensor& out) const {
    fill(out, size, value);
  }
};
struct FullLike {
  void operator()(const at::Tensor& self, const at::Scalar& value, Option, Option, Option, Option,
                  Format format, at::Tensor& out) const {
    fill(out, self.sizes(), value, format);
  }
};
struct NewFull {
  void operator()(const at::Tensor&, at::IntArrayRef size, const at::Scalar& value, Option, Option, Option,
                  Option, at::Tensor& out) const {
    fill(out, size, value);
  }
};

struct EmptyLike {
  void operator()(const at::Tensor& self, Option, Option, Option, Option, Format format,
                  at::Tensor& out) const {
    give_sizes(out, self.sizes(), format);
  }
};
struct NewEmpty {
  void operator()(const at::Tensor&, at::IntArrayRef size, Option, Option, Option, Option,
                  at::Tensor& out) const {
    give_sizes(out, size);
  }
};

struct ScalarTensor {
  void operator()(const at::Scalar& number, Option, Option, Option, Option, at::Tensor& out) const {
    fill(out, {}, number);
  }
};
// torch.tensor(number), with an argument requires_grad.
struct TensorOfNumber {
  static bool accepts(const torch::jit::Node& node) {
    return torch::jit::toIValue(node.input(3)) == c10::IValue(false);
  }
  void operator()(const c10::IValue& number, Option, Option, bool, at::Tensor& out) const {
    fill(out, {}, number.toScalar());
  }
};

struct Arange {
  void operator()(const at::Scalar& end, Option, Option, Option, Option, at::Tensor& out) const {
    at::cpu::arange_out(out, 0, end, 1);
  }
};
struct ArangeFrom {
  void operator()(const at::Scalar& start, const at::Scalar& end, Option, Option, Option, Option,
                  at::Tensor& out) const {
    at::cpu::arange_out(out, start, end, 1);
  }
};
struct ArangeByStep {
  void operator()(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, Option, Option,
                  Option, Option, at::Tensor& out) const {
    at::cpu::arange_out(out, start, end, step);
  }
};
struct Linspace {
  void operator()(const at::Scalar& start, const at::Scalar& end, std::int64_t steps, Option, Option, Option,
                  Option, at::Tensor& out) const {
    at::cpu::linspace_out(out, start, end, steps);
  }
};

namespace registered {

inline const OutVariant<
    "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor",
    Zeros, Layouts<&replay::layouts::of_sizes<0>>>
    zeros;
inline const OutVariant<
    "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor",
    Ones, Layouts<&replay::layouts::of_sizes<0>>>
    ones;
inline const OutVariant<
    "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    Full, Layouts<&replay::layouts::of_sizes<0>>>
    full;
inline const OutVariant<
    "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    ConstantLike<0>, Lower<&replay::lower::fill_like<0>>, Layouts<&replay::layouts::like_in_format>>
    zeros_like;
inline const OutVariant<
    "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    ConstantLike<1>, Lower<&replay::lower::fill_like<1>>, Layouts<&replay::layouts::like_in_format>>
    ones_like;
inline const OutVariant<
    "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    FullLike, Lower<&replay::lower::fill>, Layouts<&replay::layouts::like_in_format>>
    full_like;
inline const OutVariant<
    "aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    EmptyLike, Facts<Fact::leaves_new_memory>, Layouts<&replay::layouts::like_in_format>>
    empty_like;
inline const OutVariant<
    "aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    NewConstant<0>, Layouts<&replay::layouts::of_sizes<1>>>
    new_zeros;
inline const OutVariant<
    "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    NewConstant<1>, Layouts<&replay::layouts::of_sizes<1>>>
    new_ones;
inline const OutVariant<
    "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    NewFull, Layouts<&replay::layouts::of_sizes<1>>>
    new_full;
inline const OutVariant<
    "aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    NewEmpty, Facts<Fact::leaves_new_memory>, Layouts<&replay::layouts::of_sizes<1>>>
    new_empty;
inline const OutVariant<
    "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    ScalarTensor, Layouts<&replay::layouts::of_number>>
    scalar_tensor;
inline const OutVariant<
    "aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
    "Tensor",
    TensorOfNumber, Layouts<&replay::layouts::of_number>>
    tensor_of_int;
inline const OutVariant<
    "aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) "
    "-> Tensor",
    TensorOfNumber>
    tensor_of_float;
inline const OutVariant<
    "aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
    "Tensor",
    TensorOfNumber>
    tensor_of_bool;
inline const OutVariant<
    "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor",
    Arange, Layouts<&replay::layouts::range>>
    arange;
inline const OutVariant<
    "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    ArangeFrom, Layouts<&replay::layouts::range_from>>
    arange_from;
inline const OutVariant<
    "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    ArangeByStep, Layouts<&replay::layouts::range_by_steps>>
    arange_by_step;
inline const OutVariant<
    "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    Linspace, Layouts<&replay::layouts::linspace>>
    linspace;
// Without a functor of sr.
inline const Operator<"aten::empty", Facts<Fact::leaves_new_memory>> facts_of_empty;
inline const Operator<"aten::empty_strided", Facts<Fact::leaves_new_memory>> facts_of_empty_strided;
inline const Operator<"aten::empty_permuted", Facts<Fact::leaves_new_memory>> facts_of_empty_permuted;
inline const Operator<"aten::empty_quantized", Facts<Fact::leaves_new_memory>> facts_of_empty_quantized;
inline const Operator<"aten::new_empty_strided", Facts<Fact::leaves_new_memory>> facts_of_new_empty_strided;
inline const Operator<"aten::resize", Facts<Fact::leaves_new_memory>> facts_of_resize;
inline const Operator<"aten::resize_", Facts<Fact::leaves_new_memory>> facts_of_resize_;
inline const Operator<"aten::resize_as", Facts<Fact::leaves_new_memory>> facts_of_resize_as;
inline const Operator<"aten::resize_as_", Facts<Fact::leaves_new_memory>> facts_of_resize_as_;

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

inline const NewTensorsOf<at::_ops::fill_Scalar, Layouts<&replay::layouts::copy_in_order>,
                          InPlace<at::_ops::fill__Scalar>>
    fill_Scalar;

inline const NewTensorsOf<at::_ops::fill_Tensor, Layouts<&replay::layouts::filled>,
                          InPlace<at::_ops::fill__Tensor>>
    fill_Tensor;

inline const NewTensorsOf<at::_ops::zero, Layouts<&replay::layouts::copy_in_order>, InPlace<at::_ops::zero_>>
    zero;

inline const NewTensorsOf<at::_ops::copy, Lower<&replay::lower::copy_second>,
                          InPlace<at::_ops::copy_, &replay::lower::write_copy>>
    copy;

// The `.out` overload broadcasts the previous sizes of its output against those of its arguments.
inline const Operator<"aten::normal", Facts<Fact::out_differs>> facts_of_normal;

}  // namespace registered
}  // namespace sr::ops
