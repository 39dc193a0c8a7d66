// Runs LibTorch's own loops on addresses that change: an iterator is built once, on placeholder tensors with
// the metadata of the operands, and each call binds it to the operands' bytes.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/TensorIterator.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/replay/steps/placeholders.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/wrappers.hpp>

namespace sr::replay {

// An iterator on placeholders. Storages are bound as well as the iterator's pointers: some kernels fill or
// copy through their tensors.
struct BoundIterator : Payload {
  struct Bound {
    c10::StorageImpl* storage = nullptr;  // of a placeholder
    Address address;
    int operand = 0;           // of the iterator
    bool is_original = false;  // the operand is converted, and the placeholder is what it is converted from
  };

  virtual const at::TensorIteratorBase& iterator() const = 0;
  // The step of an iterator like this one, on new placeholders that are not bound yet.
  virtual std::unique_ptr<BoundIterator> remake() const = 0;
  // Called when the placeholders are bound.
  virtual void complete() {}

  std::string_view name() const override { return "iterator"; }
  std::size_t bytes() const override {
    return sizeof(BoundIterator) + sizeof(at::TensorIterator) + placeholders_.size() * kTensorBytes;
  }
  // LibTorch can not copy an iterator onto other tensors: it is built again.
  std::unique_ptr<Payload> clone(Frame*) const override {
    std::unique_ptr<BoundIterator> made = remake();
    for (const Bound& one : bound_) {
      const at::OperandInfo& info = made->iterator().operand(one.operand);
      made->bind(one.is_original ? info.original_tensor() : info.tensor(), one.address, one.operand,
                 one.is_original);
    }
    made->arguments = arguments;
    made->loses_arguments = loses_arguments;
    made->complete();
    return made;
  }

  // The tensor is an operand of the iterator, or what one is converted from.
  void bind(const at::Tensor& tensor, Address address, int operand, bool is_original = false) {
    c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
    storage->set_data_ptr_noswap(memory::borrow(nullptr));
    bound_.push_back({storage, address, operand, is_original});
    placeholders_.push_back(tensor);
  }

  int arguments = 0;
  bool loses_arguments = false;  // the kernel takes a number out of the iterator: each call has a copy of it

 protected:
  template <class Iterator, class Call>
  void run_on(Iterator& iterator, const Context& context, const Call& call) const {
    for (const Bound& one : bound_) {
      std::byte* const data = one.address.in(context.bases);
      if (one.storage->data() != data) one.storage->set_data_ptr_noswap(memory::borrow(data));
      if (!one.is_original) iterator._unsafe_set_arg_data(one.operand, data);
    }
    if (loses_arguments) {
      Iterator copy(iterator);
      return call(copy);
    }
    call(iterator);
    if (iterator.ntensors() != arguments) throw Deoptimized("A kernel changed the iterator it worked on.");
  }

  // Replaces a placeholder by a new one. Numbers stay: they are in the iterator for good.
  void renew(at::Tensor& tensor) const {
    if (!tensor.defined()) return;
    const auto is_bound = std::ranges::find(bound_, sr::detail::storage_of(tensor), &Bound::storage);
    if (is_bound != bound_.end()) tensor = placeholder_like(tensor);
  }
  template <class T>
  void renew(T&) const {}

 private:
  c10::SmallVector<Bound, 4> bound_;
  std::vector<at::Tensor> placeholders_;
};

// An iterator, and the function that calls the kernel.
struct StubStep final : BoundIterator {
  using Tensors = c10::SmallVector<at::Tensor, 3>;
  using Build = std::function<at::TensorIterator(at::Tensor& result, const Tensors& operands)>;

  // `given_result`: undefined if the iterator makes its result.
  static std::unique_ptr<StubStep> make(Build build, Tensors operands, at::Tensor given_result) {
    auto step = std::make_unique<StubStep>();
    step->iterator_ = build(given_result, operands);
    step->build_ = std::move(build);
    step->operands_ = std::move(operands);
    step->result_ = std::move(given_result);
    return step;
  }

  const at::TensorIterator& iterator() const override { return iterator_; }
  // The tensor that the iterator writes, or of which it writes a view.
  at::Tensor result() const { return result_.defined() ? result_ : iterator_.output(); }

  std::unique_ptr<BoundIterator> remake() const override {
    Tensors operands = operands_;
    for (at::Tensor& operand : operands) renew(operand);
    auto made = make(build_, std::move(operands), result_.defined() ? placeholder_like(result_) : result_);
    made->call = call;
    made->on_completion = on_completion;
    return made;
  }
  void complete() override {
    if (on_completion) on_completion(iterator_);
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const StubStep&>(payload);
    self.run_on(self.iterator_, context, self.call);
  }

  std::function<void(at::TensorIterator& iterator)> call;
  std::function<void(at::TensorIterator& iterator)> on_completion;  // none: nothing is left to do

 private:
  mutable at::TensorIterator iterator_;
  Build build_;
  Tensors operands_;
  at::Tensor result_;
};

}  // namespace sr::replay
