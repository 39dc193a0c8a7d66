// Lowers nodes to bound iterators.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ScalarOps.h>
#include <ATen/native/Copy.h>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/bound_iterator.hpp>

namespace sr::replay {

// Makes the placeholders of one node. When the iterator is built on them, it finds which operand each of them
// has become.
class IteratorMaker {
 public:
  IteratorMaker(Lowering& lowering, Operand out) : lowering_(&lowering), out_(std::move(out)) {
    refused_ = !is_plain(out_.dtype);
  }

  bool is_refused() const { return refused_; }

  at::Tensor stand_in(const Operand& operand, const at::Tensor& recorded = {}) {
    refused_ |= operand.storage == out_.storage || !is_plain(operand.dtype);
    const bool is_number = recorded.defined() && recorded.unsafeGetTensorImpl()->is_wrapped_number();
    at::Tensor tensor = placeholder(operand.dtype, replay::recorded(operand.sizes),
                                    replay::recorded(operand.strides), is_number);
    inputs_.push_back({operand, tensor, recorded});
    return tensor;
  }
  // The placeholder of an argument. Undefined if the argument is neither a tensor nor a number.
  at::Tensor argument(const c10::IValue& value) {
    if (value.isScalar()) return at::native::wrapped_scalar_tensor(value.toScalar());
    if (!value.isTensor() || !value.toTensor().defined()) return {};
    const at::Tensor& recorded = value.toTensor();
    refused_ |= recorded.is_neg();
    return stand_in(lowering_->operand(recorded), recorded);
  }
  at::Tensor result() const {
    return result_placeholder(out_.dtype, recorded(out_.sizes), recorded(out_.strides));
  }

  // Emits the steps that convert operands, and then this step. Returns false, having emitted nothing, if the
  // iterator would compute a result of another dtype, size or layout than the recorded one.
  bool emit(std::unique_ptr<BoundIterator> step) {
    std::vector<StorageId> reads;
    std::vector<std::pair<Operand, Operand>> conversions;
    if (!fill(*step, reads, conversions)) return false;
    step->complete();
    for (const auto& [from, to] : conversions) convert(*lowering_, from, to);
    const RunStep run = step->run;
    lowering_->emit_owned(std::move(step), run, std::move(reads), {out_.storage});
    return true;
  }

  // Emits a copy between dtypes by LibTorch's kernel.
  static bool convert(Lowering& lowering, const Operand& from, const Operand& to) {
    IteratorMaker maker(lowering, to);
    const at::Tensor in = maker.stand_in(from), out = maker.result();
    if (maker.is_refused()) return false;
    const auto build = [](at::Tensor& result, const StubStep::Tensors& operands) {
      return at::TensorIteratorConfig()
          .add_output(result)
          .add_const_input(operands[0])
          .resize_outputs(false)
          .check_all_same_dtype(false)
          .build();
    };
    auto step = std::make_unique<StubStep>(build, StubStep::Tensors{in}, out);
    step->call = [](at::TensorIterator& iterator) { at::native::copy_stub(at::kCPU, iterator, false); };
    return maker.emit(std::move(step));
  }

 private:
  struct Input {
    Operand operand;
    at::Tensor tensor, recorded;
    bool seen = false;
  };

  static bool is_plain(c10::ScalarType dtype) {
    return dtype == c10::kBool || c10::isIntegralType(dtype, false) || dtype == c10::kFloat ||
           dtype == c10::kDouble || dtype == c10::kHalf || dtype == c10::kBFloat16;
  }

  bool fill(BoundIterator& step, std::vector<StorageId>& reads,
            std::vector<std::pair<Operand, Operand>>& conversions) {
    const at::TensorIteratorBase& iterator = step.iterator();
    const at::Tensor result = step.result();
    const bool as_recorded = !refused_ && result.defined() && iterator.noutputs() == 1 &&
                             iterator.operand(0).tensor_base().is_alias_of(result) &&
                             !iterator.operand(0).original_tensor_base().defined() &&
                             result.sizes() == recorded(out_.sizes) &&
                             result.strides() == recorded(out_.strides) && result.scalar_type() == out_.dtype;
    if (!as_recorded) return false;
    step.arguments = iterator.ntensors();
    bind(step, result, out_, 0);
    bool has_number = false, is_reduced = c10::isReducedFloatingType(out_.dtype);
    for (int i = 1; i < iterator.ntensors(); ++i) {
      const at::OperandInfo& info = iterator.operand(i);
      const bool converted = info.original_tensor_base().defined();
      const at::TensorBase& original = converted ? info.original_tensor_base() : info.tensor_base();
      has_number |= info.tensor_base().numel() == 1;
      is_reduced |= c10::isReducedFloatingType(info.current_dtype);
      const auto input =
          std::ranges::find_if(inputs_, [&](const Input& one) { return one.tensor.is_alias_of(original); });
      if (input == inputs_.end()) continue;  // a number, which is the same in all calls
      input->seen = true;
      if (!converted) {
        bind(step, input->tensor, input->operand, i);
      } else {
        const std::optional<Operand> other = converted_operand(*input, info.tensor(), conversions);
        if (!other) return false;
        bind(step, info.tensor(), *other, i);
        bind(step, input->tensor, input->operand, i, /*is_original=*/true);  // some kernels read it
        reads.push_back(other->storage);
      }
      reads.push_back(input->operand.storage);
    }
    if (!std::ranges::all_of(inputs_, &Input::seen)) return false;
    step.loses_arguments = has_number && is_reduced;
    return true;
  }

  // Where the elements of an operand are after their conversion. They are converted in each call, or now if
  // they are constant and the same in all calls.
  std::optional<Operand> converted_operand(const Input& from, const at::Tensor& to,
                                           std::vector<std::pair<Operand, Operand>>& conversions) {
    if (!to.is_non_overlapping_and_dense()) return std::nullopt;
    Dims sizes = from.operand.sizes, strides = dense_strides(sizes);
    if (!from.operand.is_contiguous() || to.strides() != recorded(strides)) {
      pinned(sizes);
      pinned(from.operand.strides);
      sizes = constant_dims(to.sizes());
      strides = constant_dims(to.strides());
    }
    Operand made;
    const bool is_same =
        from.operand.offset.is_constant() && !varies(from.operand.sizes, from.operand.strides);
    if (is_same && from.recorded.defined() && lowering_->is_constant(from.operand)) {
      made = lowering_->literal(sizes, from.recorded.to(to.scalar_type()));
      if (lowering_->literals().at(made.storage).strides() != to.strides()) return std::nullopt;
    } else {
      made = lowering_->temporary(sizes, to.scalar_type());
    }
    made.strides = strides;
    if (!lowering_->is_constant(made)) conversions.emplace_back(from.operand, made);
    return made;
  }

  void bind(BoundIterator& step, const at::Tensor& tensor, const Operand& operand, int i,
            bool is_original = false) {
    step.bind(tensor, lowering_->address(operand), operand.sizes, operand.strides, i, is_original);
  }

  Lowering* lowering_;
  Operand out_;
  std::vector<Input> inputs_;
  bool refused_ = false;
};

}  // namespace sr::replay
