// LibTorch's pointwise operators on bound iterators, for every dtype and layout. LibTorch's structured
// kernels do the work: `meta` builds the iterator, and replays call `impl`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/iterator_headers.hpp>
#include <sr/replay/lowering/iterator_maker.hpp>
#include <sr/replay/lowering/kernel_argument.hpp>

namespace sr::replay {

// The functional form of a structured kernel: the iterator chooses dtype and strides of the result. LibTorch
// 2.12 also gives it names of dimensions, which are the rest of the arguments.
template <class Op, class SetOutput = decltype(&at::impl::MetaBase::set_output_raw_strided)>
struct FunctionalKernel;

template <class Op, class... Rest>
struct FunctionalKernel<Op, void (at::impl::MetaBase::*)(std::int64_t, at::IntArrayRef, at::IntArrayRef,
                                                         at::TensorOptions, Rest...)>
    final : Op {
  at::Tensor out;

  const at::Tensor& maybe_get_output(std::int64_t) override { return out; }
  void set_output_raw_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options, Rest... rest) override {
    if (!out.defined()) out = result_placeholder(sizes, strides, options);
    Op::set_output_raw_strided(index, sizes, strides, options, rest...);
  }
  void set_output_strided(std::int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options, Rest... rest) override {
    set_output_raw_strided(index, sizes, strides, options, rest...);
  }
};

// The type-erased interface of structured kernels, so that little code is compiled for each of them.
struct AnyStructured : BoundIterator {
  using BoundIterator::BoundIterator;

  virtual std::size_t argument_count() const = 0;
  // Returns false if a value is not a valid argument of the kernel.
  virtual bool take(IteratorMaker& maker, c10::ArrayRef<c10::IValue> values) = 0;
  // Makes the iterator and the result from the arguments that were taken.
  virtual void build() = 0;
};

template <class Op, class Meta = decltype(&Op::meta)>
struct StructuredStep;

template <class Op, class Base, class... Args>
struct StructuredStep<Op, void (Base::*)(Args...)> final : AnyStructured {
  StructuredStep() : AnyStructured(&run_kernel) {}

  std::size_t argument_count() const override { return sizeof...(Args); }
  const at::TensorIteratorBase& iterator() const override { return *kernel_; }
  at::Tensor result() const override { return kernel_->out; }
  bool take(IteratorMaker& maker, c10::ArrayRef<c10::IValue> values) override {
    std::size_t i = 0;
    return std::apply([&](auto&... argument) { return (argument.take(maker, values[i++]) && ...); },
                      arguments_);
  }
  void build() override {
    kernel_.emplace();
    std::apply([&](const auto&... argument) { kernel_->meta(argument.pass()...); }, arguments_);
  }

 private:
  StructuredStep(const StructuredStep&) = default;

  std::unique_ptr<BoundIterator> copy() const override {
    return std::unique_ptr<BoundIterator>(new StructuredStep(*this));
  }
  void build_again(const std::function<void(at::Tensor&)>& renew) override {
    const auto renew_tensor = [&](auto& kept) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(kept)>, at::Tensor>) renew(kept);
    };
    std::apply([&](auto&... argument) { (renew_tensor(argument.kept), ...); }, arguments_);
    build();
  }

  static void run_kernel(const Payload& payload, Context& context) {
    const auto& self = static_cast<const StructuredStep&>(payload);
    self.run_on(*self.kernel_, context, [&](FunctionalKernel<Op>& kernel) {
      std::apply([&](const auto&... argument) { kernel.impl(argument.pass()..., kernel.out); },
                 self.arguments_);
    });
  }

  mutable std::optional<FunctionalKernel<Op>> kernel_;  // none before build()
  std::tuple<KernelArgument<Args>...> arguments_;
};

namespace lower {

using Values = c10::SmallVector<c10::IValue, 4>;

template <class Op>
std::unique_ptr<AnyStructured> make_structured() {
  return std::make_unique<StructuredStep<Op>>();
}

inline bool structured_of(Lowering& lowering, const TracedNode& node, c10::ArrayRef<c10::IValue> values,
                          std::unique_ptr<AnyStructured> (*make)()) {
  const Operand out = lowering.output(node);
  if (out.count() == 0) return true;
  std::unique_ptr<AnyStructured> step = make();
  IteratorMaker maker(lowering, out);
  if (values.size() < step->argument_count() || !step->take(maker, values) || maker.is_refused())
    return false;
  step->build();
  return maker.emit(std::move(step));
}

// Emits the kernel with these arguments.
template <class Op>
bool structured_on(Lowering& lowering, const TracedNode& node, const Values& values) {
  return structured_of(lowering, node, values, &make_structured<Op>);
}

// The kernel takes the node's first arguments. A number in place of a tensor is wrapped, as in LibTorch.
template <class Op>
bool structured(Lowering& lowering, const TracedNode& node) {
  return structured_of(lowering, node, node.inputs, &make_structured<Op>);
}

namespace native = at::native;

// For integers these operators are copies.
template <class Op>
bool rounded(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (in && c10::isIntegralType(in->dtype, /*includeBool=*/false)) return copy(lowering, node);
  return structured<Op>(lowering, node);
}

// sub(other, self, alpha)
inline bool reverse_sub_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_sub_out>(lowering, node,
                                                   {node.inputs[1], node.inputs[0], node.inputs[2]});
}
inline bool relu_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_clamp_min_out>(lowering, node, {node.inputs[0], 0});
}
inline bool square_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_pow_Tensor_Scalar_out>(lowering, node, {node.inputs[0], 2});
}
inline bool power_of_number(Lowering& lowering, const TracedNode& node) {
  if (!node.inputs[0].isScalar() || node.inputs[0].toScalar().equal(1.0)) return false;
  return structured<native::structured_pow_Tensor_Tensor_out>(lowering, node);
}
// Limits for integers are rounded first, which this kernel does not do.
inline bool hardtanh_any(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  return in && c10::isFloatingType(in->dtype) && structured<native::structured_clamp_out>(lowering, node);
}
inline bool relu6_any(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  return in && c10::isFloatingType(in->dtype) &&
         structured_on<native::structured_clamp_out>(lowering, node, {node.inputs[0], 0, 6});
}
inline bool selu_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_elu_out>(
      lowering, node,
      {node.inputs[0], 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1});
}

using Tensors = StubStep::Tensors;

// For iterators of another kind: `build` makes one of the operands, and of the result if it takes one.
template <class Build, class Call>
bool stub_on(Lowering& lowering, const TracedNode& node, std::size_t operands, bool given_result, Build build,
             Call call) {
  const Operand out = lowering.output(node);
  if (out.count() == 0) return true;
  IteratorMaker maker(lowering, out);
  Tensors tensors;
  for (std::size_t i = 0; i < operands; ++i) {
    tensors.push_back(maker.argument(node.inputs[i]));
    if (!tensors.back().defined()) return false;
  }
  if (maker.is_refused()) return false;
  auto step = std::make_unique<StubStep>(std::move(build), std::move(tensors),
                                         given_result ? maker.result() : at::Tensor());
  step->call = std::move(call);
  return maker.emit(std::move(step));
}

template <auto& Stub>
bool same_dtype(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::unary_op(out, in[0]); },
      [](at::TensorIterator& iterator) { Stub(at::kCPU, iterator); });
}

template <auto& Stub>
bool logical(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 2, true,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::comparison_op(out, in[0], in[1]); },
      [](at::TensorIterator& iterator) { Stub(at::kCPU, iterator); });
}

inline bool logical_not(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 1, true,
      [](at::Tensor& out, const Tensors& in) {
        return at::TensorIteratorConfig()
            .check_all_same_dtype(false)
            .add_output(out)
            .add_const_input(in[0])
            .build();
      },
      [](at::TensorIterator& iterator) { native::logical_not_stub(at::kCPU, iterator); });
}

inline bool floor_divide(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 2, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::binary_op(out, in[0], in[1]); },
      [](at::TensorIterator& iterator) { native::div_floor_stub(at::kCPU, iterator); });
}

inline bool nan_to_num(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (!in || !c10::isFloatingType(in->dtype)) return in && copy(lowering, node);
  const auto nan = node.inputs[1].toOptional<double>(), positive = node.inputs[2].toOptional<double>(),
             negative = node.inputs[3].toOptional<double>();
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& tensors) { return at::TensorIterator::unary_op(out, tensors[0]); },
      [=](at::TensorIterator& iterator) {
        native::nan_to_num_stub(at::kCPU, iterator, nan, positive, negative);
      });
}

inline bool logit(Lowering& lowering, const TracedNode& node) {
  const at::Scalar epsilon = node.inputs[1].toOptional<double>().value_or(-1.0);
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::unary_float_op(out, in[0]); },
      [=](at::TensorIterator& iterator) { native::logit_stub(at::kCPU, iterator, epsilon); });
}

// where(condition, self, other). Operands of two dtypes are left to LibTorch.
inline bool where(Lowering& lowering, const TracedNode& node) {
  const auto condition = lowering.input(node, 0), self = lowering.input(node, 1),
             other = lowering.input(node, 2);
  const c10::ScalarType dtype = lowering.output(node).dtype;
  if (!condition || !self || !other || condition->dtype != c10::kBool) return false;
  if (self->dtype != dtype || other->dtype != dtype) return false;
  return stub_on(
      lowering, node, 3, true,
      [](at::Tensor& out, const Tensors& in) {
        return at::TensorIteratorConfig()
            .check_all_same_dtype(false)
            .add_output(out)
            .add_const_input(in[0])
            .add_const_input(in[1])
            .add_const_input(in[2])
            .build();
      },
      [](at::TensorIterator& iterator) { native::where_kernel(at::kCPU, iterator); });
}

// Converts the first argument to another dtype.
inline bool convert(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || in->dtype == out.dtype || in->sizes != out.sizes || node.inputs[0].toTensor().is_neg())
    return false;
  return out.count() == 0 || IteratorMaker::convert(lowering, *in, out);
}

}  // namespace lower
}  // namespace sr::replay
