// Runs LibTorch's own loops on addresses that change: an iterator is built once for all calls of the same
// sizes, on placeholder tensors with the metadata of the operands, and each call binds it to their bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorIterator.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/replay/steps/placeholders.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/wrappers.hpp>

namespace sr::replay {

// An iterator on placeholders. Storages are bound as well as the iterator's pointers: some kernels fill or
// copy through their tensors. With other sizes, and for a clone, the iterator is built again.
struct BoundIterator : Payload {
  explicit BoundIterator(RunStep run_step) : run(run_step) {}

  std::string_view name() const override { return "iterator"; }
  std::size_t bytes() const override {
    return sizeof(BoundIterator) + sizeof(at::TensorIterator) + bytes_of(placeholders_) +
           placeholders_.size() * (kTensorBytes + sizeof(Bound));
  }

  RunStep settle(SizeValues& values) override {
    if (!varies_) return nullptr;
    return rebuild(&values) ? run : &run_refused;
  }
  std::unique_ptr<Payload> clone(Frame*) const override {
    std::unique_ptr<BoundIterator> made = copy();
    made->rebuild(nullptr);
    return made;
  }

  virtual const at::TensorIteratorBase& iterator() const = 0;
  // The tensor that the iterator writes, or of which it writes a view.
  virtual at::Tensor result() const = 0;
  // Called when all placeholders are bound.
  virtual void complete() {}

  // The tensor is operand `i` of the iterator, or what that is converted from.
  void bind(const at::Tensor& tensor, Address address, const Dims& sizes, const Dims& strides, int i,
            bool is_original = false) {
    bound_.push_back({nullptr, address, i, is_original, {sizes, strides}});
    varies_ |= bound_.back().dims.vary();
    take(bound_.back(), tensor);
    placeholders_.push_back(tensor);
  }

  RunStep run;
  int arguments = 0;
  bool loses_arguments = false;  // the kernel takes a number out of the iterator: each call has a copy of it

 protected:
  struct Bound {
    c10::StorageImpl* storage = nullptr;  // of a placeholder
    Address address;
    int operand = 0;           // of the iterator
    bool is_original = false;  // the operand is converted, and the placeholder is what it is converted from
    VaryingDims dims;
  };

  BoundIterator(const BoundIterator&) = default;

  // A step with the same operands and without an iterator.
  virtual std::unique_ptr<BoundIterator> copy() const = 0;
  // Builds the iterator on other placeholders, which `renew(tensor)` puts in the place of those it has.
  virtual void build_again(const std::function<void(at::Tensor& tensor)>& renew) = 0;

  std::byte* address_of_result(const Context& context) const { return bound_[0].address.in(context.bases); }

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

 private:
  static void run_refused(const Payload&, Context&) {
    throw Deoptimized("An operator lays its result out otherwise than for the recorded sizes.");
  }

  // Builds the iterator for the sizes of a call; null: for those that it has. Returns whether its operands
  // lie as they should.
  bool rebuild(SizeValues* values) {
    for (Bound& one : bound_) {
      if (values != nullptr) one.dims.settle(*values);
    }
    build_again([&](at::Tensor& tensor) { renew(tensor, values != nullptr); });
    if (iterator().ntensors() != arguments) return false;
    bool fits = true;
    std::vector<at::Tensor> made;  // the old ones live as long as their storages are looked for
    for (Bound& one : bound_) {
      const at::OperandInfo& info = iterator().operand(one.operand);
      if (one.is_original && !info.original_tensor_base().defined()) return false;
      const at::Tensor tensor = one.is_original    ? info.original_tensor()
                                : one.operand == 0 ? result()
                                                   : info.tensor();
      if (values != nullptr && one.dims.vary())
        fits = fits && tensor.sizes() == one.dims.sizes && tensor.strides() == one.dims.strides;
      take(one, tensor);
      made.push_back(tensor);
    }
    placeholders_ = std::move(made);
    complete();
    return fits;
  }

  // Numbers stay: they are in the iterator for good.
  void renew(at::Tensor& tensor, bool resizes) const {
    if (!tensor.defined()) return;
    const auto known = std::ranges::find(bound_, sr::detail::storage_of(tensor), &Bound::storage);
    if (known == bound_.end()) return;
    const bool has_sizes = resizes && known->dims.vary();
    const auto* const impl = tensor.unsafeGetTensorImpl();
    tensor = placeholder(tensor.scalar_type(), has_sizes ? known->dims.sizes : impl->sizes(),
                         has_sizes ? known->dims.strides : impl->strides(), impl->is_wrapped_number());
  }

  static void take(Bound& bound, const at::Tensor& tensor) {
    bound.storage = tensor.storage().unsafeGetStorageImpl();
    bound.storage->set_data_ptr_noswap(memory::borrow(nullptr));
  }

  std::vector<Bound> bound_;
  std::vector<at::Tensor> placeholders_;
  bool varies_ = false;
};

// An iterator, and the function that calls the kernel.
struct StubStep final : BoundIterator {
  using Tensors = c10::SmallVector<at::Tensor, 3>;
  using Build = std::function<at::TensorIterator(at::Tensor& result, const Tensors& operands)>;

  // `given_result`: undefined if the iterator makes its result.
  StubStep(Build build, Tensors operands, at::Tensor given_result)
      : BoundIterator(&run_stub),
        build_(std::move(build)),
        operands_(std::move(operands)),
        result_(std::move(given_result)),
        iterator_(build_(result_, operands_)) {}

  const at::TensorIterator& iterator() const override { return iterator_; }
  at::Tensor result() const override { return result_.defined() ? result_ : iterator_.output(); }

  void complete() override {
    if (!zeroes_result) return;
    result_bytes_ = result_.nbytes();
    at::TensorBase one = at::zeros({1}, result_.options());
    iterator_.operand(0).tensor(c10::MaybeOwned<at::TensorBase>::owned(std::move(one)));
  }

  std::function<void(at::TensorIterator& iterator)> call;
  // The step fills its result, which must be given, with zeros. The kernel, which would do that through the
  // dispatcher, has a tensor of one element to fill, and must use that for nothing else.
  bool zeroes_result = false;

 private:
  StubStep(const StubStep&) = default;

  std::unique_ptr<BoundIterator> copy() const override {
    return std::unique_ptr<BoundIterator>(new StubStep(*this));
  }
  void build_again(const std::function<void(at::Tensor&)>& renew) override {
    for (at::Tensor& operand : operands_) renew(operand);
    renew(result_);
    iterator_ = build_(result_, operands_);
  }

  static void run_stub(const Payload& payload, Context& context) {
    const auto& self = static_cast<const StubStep&>(payload);
    if (self.zeroes_result) std::memset(self.address_of_result(context), 0, self.result_bytes_);
    self.run_on(self.iterator_, context, self.call);
  }

  Build build_;
  Tensors operands_;
  at::Tensor result_;
  std::size_t result_bytes_ = 0;
  mutable at::TensorIterator iterator_;
};

}  // namespace sr::replay
