// LibTorch's kernels on bound iterators, for every dtype and layout. Of a structured kernel, `meta` builds
// the iterator, and replays call `impl`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

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

namespace native = at::native;

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

}  // namespace lower
}  // namespace sr::replay
