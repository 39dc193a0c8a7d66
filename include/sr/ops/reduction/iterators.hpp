// LibTorch's reductions on bound iterators.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/native/ReduceOps.h>
#include <ATen/native/ReduceOpsUtils.h>

#include <sr/replay/lowering/iterator_maker.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/structured.hpp>
#include <sr/replay/steps/bound_iterator.hpp>

namespace sr::replay {

// Divides the result of a sum in place.
template <class T>
struct DivideStep final : ClonableStep<DivideStep<T>> {
  std::string_view name() const override { return "division"; }
  Address address;
  Size count_of, divisor_of;
  // In this call:
  std::size_t count = 0;
  T divisor = 1;

  RunStep settle(SizeValues& values) override {
    count = values.count(count_of);
    divisor = static_cast<T>(values(divisor_of));
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const DivideStep&>(payload);
    T* const values = self.address.template in<T>(context.bases);
    for (std::size_t i = 0; i < self.count; ++i) values[i] /= self.divisor;
  }
};

namespace lower {

// The dimensions in a node's argument; all of them if it has none.
inline std::optional<std::vector<std::int64_t>> dims_of(const c10::IValue& value) {
  if (value.isNone()) return std::vector<std::int64_t>{};
  if (value.isInt()) return std::vector<std::int64_t>{value.toInt()};
  if (value.isIntList()) return value.toIntVector();
  return std::nullopt;
}

struct Reduction {
  std::vector<std::int64_t> dims;
  bool keep = false;
  c10::ScalarType dtype = c10::kFloat;  // of the operand of the kernel
};

// `in`, converted if it has another dtype.
inline std::optional<Operand> as_dtype(Lowering& lowering, const Operand& in, c10::ScalarType dtype) {
  if (in.dtype == dtype) return in;
  Operand made = lowering.temporary(in.sizes, dtype);
  if (in.is_contiguous())
    return IteratorMaker::convert(lowering, in, made) ? std::optional(made) : std::nullopt;
  const at::Tensor like =
      at::empty_strided(pinned(in.sizes), pinned(in.strides), c10::TensorOptions(c10::kMeta).dtype(in.dtype));
  const at::Tensor lies = at::empty_like(like, c10::TensorOptions(c10::kMeta).dtype(dtype));
  made.strides = constant_dims(lies.strides());
  if (!IteratorMaker::convert(lowering, in, made)) return std::nullopt;
  return made;
}

// LibTorch's loops reduce two dimensions at a time, and add up further reduced ones in the result: for half
// types LibTorch then sums in fp32.
inline bool sums_in_float(const at::TensorIteratorBase& iterator) {
  return c10::isReducedFloatingType(iterator.common_dtype()) && iterator.ndim() >= 2 &&
         iterator.strides(0)[0] == 0 && iterator.strides(0)[1] == 0;
}

// The kernel of sums fills its result with zeros through the dispatcher, which takes longer than a small sum.
// It uses the filled tensor for nothing else, unless it splits the work. See StubStep::zeroes_result.
template <auto* Stub>
inline constexpr bool kFillsWithZeros = false;
template <>
inline constexpr bool kFillsWithZeros<&native::sum_stub> = true;

// Returns false if it has emitted nothing, or only a conversion whose result is not read.
template <auto& Stub, bool kAlwaysInDtype = false>
bool reduce(Lowering& lowering, const Operand& given, const Operand& out, const Reduction& how) {
  const std::optional<Operand> in = as_dtype(lowering, given, how.dtype);
  if (!in) return false;
  if (c10::isReducedFloatingType(how.dtype)) pinned(in->sizes);  // they decide the answer of sums_in_float
  IteratorMaker maker(lowering, out);
  const at::Tensor self = maker.stand_in(*in), result = maker.result();
  if (maker.is_refused()) return false;
  const auto build = [how](at::Tensor& made, const StubStep::Tensors& operands) {
    return at::meta::make_reduction(operands[0], made, at::OptionalIntArrayRef(how.dims), how.keep,
                                    how.dtype);
  };
  auto step = std::make_unique<StubStep>(build, StubStep::Tensors{self}, result);
  if (!kAlwaysInDtype && sums_in_float(step->iterator())) {
    const Operand sum = lowering.temporary(out.sizes, c10::kFloat);
    return reduce<Stub, true>(lowering, given, sum, {how.dims, how.keep, c10::kFloat}) &&
           IteratorMaker::convert(lowering, sum, out);
  }
  step->call = [](at::TensorIterator& iterator) { Stub(at::kCPU, iterator); };
  if constexpr (kFillsWithZeros<&Stub>)
    step->zeroes_result = out.is_contiguous() && in->count() < at::internal::GRAIN_SIZE;
  return maker.emit(std::move(step));
}

// The operand, if it and the result have elements. Otherwise `done` is the answer of the lowering.
inline std::optional<Operand> reduced_operand(Lowering& lowering, const TracedNode& node, bool& done) {
  const auto in = lowering.input(node, 0);
  done = in && in->count() != 0 && lowering.output(node).count() == 0;
  if (!in || in->count() == 0 || done || node.inputs[0].toTensor().is_neg()) return std::nullopt;
  return in;
}

template <auto& Stub, bool kAlwaysInDtype>
bool reduce_in_result_dtype(Lowering& lowering, const TracedNode& node, const c10::IValue& dims, bool keep) {
  bool done = false;
  const auto in = reduced_operand(lowering, node, done);
  const auto list = dims_of(dims);
  if (!in || !list) return done;
  const Operand out = lowering.output(node);
  return reduce<Stub, kAlwaysInDtype>(lowering, *in, out, {*list, keep, out.dtype});
}

// (self, dims, keepdim, ...) and (self, ...)
template <auto& Stub, bool kAlwaysInDtype = true>
bool reduce_dims(Lowering& lowering, const TracedNode& node) {
  return reduce_in_result_dtype<Stub, kAlwaysInDtype>(lowering, node, node.inputs[1],
                                                      node.inputs[2].toBool());
}
template <auto& Stub, bool kAlwaysInDtype = true>
bool reduce_all(Lowering& lowering, const TracedNode& node) {
  return reduce_in_result_dtype<Stub, kAlwaysInDtype>(lowering, node, {}, false);
}

// The mean of integers is lowered as a sum.
inline bool sum_of_numbers(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  return in && c10::isFloatingType(in->dtype) && lowering.output(node).dtype == in->dtype &&
         reduce_dims<native::nansum_stub>(lowering, node);
}

template <class T>
void divide(Lowering& lowering, const Operand& values, const Size& divisor) {
  DivideStep<T> step;
  step.address = lowering.address(values);
  step.count_of = values.count();
  step.divisor_of = divisor;
  lowering.emit(std::move(step), {values.storage}, {values.storage});
}

// A sum and a division; for half types in fp32, as in LibTorch.
inline bool mean(Lowering& lowering, const TracedNode& node, const c10::IValue& dims, bool keep) {
  bool done = false;
  const auto in = reduced_operand(lowering, node, done);
  const auto list = dims_of(dims);
  if (!in || !list) return done;
  const Operand out = lowering.output(node);
  const bool is_half = c10::isReducedFloatingType(out.dtype);
  if (!out.is_contiguous() || (!is_half && out.dtype != c10::kFloat && out.dtype != c10::kDouble))
    return false;
  if (is_half && in->dtype != out.dtype) return false;
  Operand sum = is_half ? lowering.temporary(out.sizes, c10::kFloat) : out;
  if (!reduce<native::sum_stub>(lowering, *in, sum, {*list, keep, sum.dtype})) return false;
  const Size divisor = in->count() / out.count();
  if (sum.dtype == c10::kDouble) {
    divide<double>(lowering, sum, divisor);
  } else {
    divide<float>(lowering, sum, divisor);
  }
  return !is_half || IteratorMaker::convert(lowering, sum, out);
}
inline bool mean_dims_any(Lowering& lowering, const TracedNode& node) {
  return mean(lowering, node, node.inputs[1], node.inputs[2].toBool());
}
inline bool mean_all_any(Lowering& lowering, const TracedNode& node) {
  return mean(lowering, node, {}, false);
}

// argmax(self, dim, keepdim): of one dimension.
template <auto& Stub>
bool index_of_extreme(Lowering& lowering, const TracedNode& node) {
  bool done = false;
  const auto in = reduced_operand(lowering, node, done);
  if (!in || !node.inputs[1].isInt() || in->rank() == 0) return done;
  if (in->size(node.inputs[1].toInt()) == 1) return false;
  return reduce<Stub, true>(lowering, *in, lowering.output(node),
                            {{node.inputs[1].toInt()}, node.inputs[2].toBool(), in->dtype});
}

}  // namespace lower
}  // namespace sr::replay
