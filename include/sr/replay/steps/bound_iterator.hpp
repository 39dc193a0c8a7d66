// Runs LibTorch's own loops on addresses that change: an iterator is built once, on placeholder tensors with
// the metadata of the operands, and each call binds it to the operands' bytes.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ScalarOps.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Copy.h>

#include <sr/base/borrowed.hpp>
#include <sr/replay/fresh_tensor.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/wrappers.hpp>

namespace sr::replay {

// Storages are bound as well as the iterator's pointers: some kernels fill or copy through their tensors.
struct BoundIterator : Payload {
  std::string_view name() const override { return "iterator"; }
  // LibTorch can not copy an iterator onto other tensors, and functions of steps refer to theirs.
  std::unique_ptr<Payload> clone(Frame*) const override { return nullptr; }
  std::size_t bytes() const override {
    return sizeof(BoundIterator) + sizeof(at::TensorIterator) + stand_ins.size() * kTensorBytes;
  }
  struct Bound {
    c10::StorageImpl* storage = nullptr;  // of a stand-in
    Address address;
    int argument = -1;  // of the iterator; -1: none
  };
  c10::SmallVector<Bound, 4> bound;
  std::vector<at::Tensor> stand_ins;
  int arguments = 0;
  bool loses_arguments =
      false;  // the kernel takes a number out of the iterator, so each call has a copy of it

  template <class Iterator, class Call>
  void run_on(Iterator& iterator, const Context& context, const Call& call) const {
    for (const Bound& one : bound) {
      std::byte* const data = one.address.in(context.bases);
      if (one.storage->data() != data) one.storage->set_data_ptr_noswap(memory::borrow(data));
      if (one.argument >= 0) iterator._unsafe_set_arg_data(one.argument, data);
    }
    if (loses_arguments) {
      Iterator copy(iterator);
      return call(copy);
    }
    call(iterator);
    if (iterator.ntensors() != arguments) throw Deoptimized("A kernel changed the iterator it worked on.");
  }
};

// An iterator, and the function that calls the kernel.
struct StubStep final : BoundIterator {
  mutable at::TensorIterator iterator;
  std::function<void(at::TensorIterator& iterator)> call;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const StubStep&>(payload);
    self.run_on(self.iterator, context, self.call);
  }
};

// Makes the placeholders of one node, and finds what has to be bound from the iterator that is built on them.
class IteratorMaker {
 public:
  IteratorMaker(Lowering& lowering, Operand out) : lowering_(&lowering), out_(std::move(out)) {
    refused_ = !is_plain(out_.dtype);
  }

  const Operand& out() const { return out_; }
  bool is_refused() const { return refused_; }

  at::Tensor stand_in(const Operand& operand, const at::Tensor& recorded = {}) {
    refused_ |= operand.storage == out_.storage || !is_plain(operand.dtype);
    at::Tensor tensor = make(operand, /*zeros=*/true);
    if (recorded.defined() && recorded.unsafeGetTensorImpl()->is_wrapped_number()) {
      tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
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
  at::Tensor result() const { return make(out_, /*zeros=*/false); }
  // The result placeholder for an iterator that chooses the layout of its result.
  static at::Tensor result(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                           const at::TensorOptions& options) {
    Operand operand{kNone, 0, constant_dims(sizes), constant_dims(strides),
                    c10::typeMetaToScalarType(options.dtype())};
    const auto format = options.memory_format_opt();
    if (strides.size() == sizes.size()) return make(operand, /*zeros=*/false);
    if (format == at::MemoryFormat::ChannelsLast && sizes.size() == 4) {
      const auto lies = c10::get_channels_last_strides_2d(sizes);
      operand.strides = constant_dims(lies);
    } else if (format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5) {
      const auto lies = c10::get_channels_last_strides_3d(sizes);
      operand.strides = constant_dims(lies);
    } else {
      operand.strides = dense_strides(operand.sizes);
    }
    return make(operand, /*zeros=*/false);
  }

  // Emits the step, after the steps that convert operands. Returns false, having emitted nothing, if the
  // iterator does not agree with the trace. `run` and `iterator` belong to the step; `result` is the tensor
  // that the iterator writes, or a view of it.
  bool emit(std::unique_ptr<BoundIterator> step, RunStep run, const at::TensorIteratorBase& iterator,
            const at::Tensor& result) {
    std::vector<StorageId> reads;
    std::vector<std::pair<Operand, Operand>> conversions;
    if (!fill(*step, iterator, result, reads, conversions)) return false;
    for (const auto& [from, to] : conversions) convert(*lowering_, from, to);
    Payload* const payload = step.get();
    lowering_->payloads().push_back(std::move(step));
    lowering_->emit_owned(payload, run, std::move(reads), {out_.storage});
    return true;
  }

  // Emits a copy between dtypes by LibTorch's kernel.
  static bool convert(Lowering& lowering, const Operand& from, const Operand& to) {
    IteratorMaker maker(lowering, to);
    auto step = std::make_unique<StubStep>();
    const at::Tensor in = maker.stand_in(from), out = maker.result();
    if (maker.is_refused()) return false;
    step->iterator = at::TensorIteratorConfig()
                         .add_output(out)
                         .add_const_input(in)
                         .resize_outputs(false)
                         .check_all_same_dtype(false)
                         .build();
    step->call = [](at::TensorIterator& iterator) { at::native::copy_stub(at::kCPU, iterator, false); };
    const at::TensorIterator& iterator = step->iterator;
    return maker.emit(std::move(step), &StubStep::run, iterator, out);
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

  // An iterator may convert operands while it is built, so they need bytes: zeros, which are freed
  // afterwards.
  static at::Tensor make(const Operand& operand, bool zeros) {
    const Numbers sizes = pinned(operand.sizes), strides = pinned(operand.strides);
    const std::size_t bytes = extent_of(sizes, strides) * c10::elementSize(operand.dtype);
    at::DataPtr data = memory::borrow(nullptr);
    if (zeros && bytes != 0) {
      void* const block = std::calloc(bytes, 1);  // NOLINT(cppcoreguidelines-no-malloc)
      if (block == nullptr) throw std::bad_alloc();
      data = {block, block, &std::free, at::Device(at::kCPU)};
    }
    return tensor_over(std::move(data), operand.dtype, sizes, strides);
  }

  static c10::StorageImpl* storage_of(const at::TensorBase& tensor) {
    return tensor.storage().unsafeGetStorageImpl();
  }

  bool fill(BoundIterator& step, const at::TensorIteratorBase& iterator, const at::Tensor& result,
            std::vector<StorageId>& reads, std::vector<std::pair<Operand, Operand>>& conversions) {
    const bool as_recorded = !refused_ && result.defined() && iterator.noutputs() == 1 &&
                             iterator.operand(0).tensor_base().is_alias_of(result) &&
                             !iterator.operand(0).original_tensor_base().defined() &&
                             result.sizes() == pinned(out_.sizes) &&
                             result.strides() == pinned(out_.strides) && result.scalar_type() == out_.dtype;
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
      const auto input = std::ranges::find_if(
          inputs_, [&](const Input& one) { return storage_of(one.tensor) == storage_of(original); });
      if (input == inputs_.end()) continue;  // a number: in the iterator for good
      input->seen = true;
      if (!converted) {
        bind(step, input->tensor, input->operand, i);
      } else {
        const std::optional<Operand> other = converted_operand(*input, info.tensor(), conversions);
        if (!other) return false;
        bind(step, info.tensor(), *other, i);
        bind(step, input->tensor, input->operand, -1);  // kernels read numbers before their conversion
        reads.push_back(other->storage);
      }
      reads.push_back(input->operand.storage);
    }
    if (!std::ranges::all_of(inputs_, &Input::seen)) return false;
    step.loses_arguments = has_number && is_reduced;
    return true;
  }

  // The operand's converted elements: converted in each call, or once if they are constant.
  std::optional<Operand> converted_operand(const Input& from, const at::Tensor& to,
                                           std::vector<std::pair<Operand, Operand>>& conversions) {
    if (!to.is_non_overlapping_and_dense()) return std::nullopt;
    const Dims sizes = constant_dims(to.sizes()), strides = constant_dims(to.strides());
    Operand made;
    if (from.recorded.defined() && lowering_->is_constant(from.operand)) {
      made = lowering_->literal(sizes, from.recorded.to(to.scalar_type()));
      if (lowering_->literals().at(made.storage).strides() != to.strides()) return std::nullopt;
    } else {
      made = lowering_->temporary(sizes, to.scalar_type());
    }
    made.strides = strides;
    if (!lowering_->is_constant(made)) conversions.emplace_back(from.operand, made);
    return made;
  }

  static void bind(BoundIterator& step, const at::Tensor& tensor, const Operand& operand, int argument) {
    c10::StorageImpl* const storage = storage_of(tensor);
    storage->set_data_ptr_noswap(memory::borrow(nullptr));
    step.bound.push_back({storage, {operand.storage, operand.byte_offset().pin()}, argument});
    step.stand_ins.push_back(tensor);
  }

  Lowering* lowering_;
  Operand out_;
  std::vector<Input> inputs_;
  bool refused_ = false;
};

}  // namespace sr::replay
