// Runs LibTorch's pointwise and reduction kernels. The TensorIterator of a node is built once and kept. It is
// built on placeholder tensors; each call sets their addresses to those of the operands. When sizes differ
// from those of the last call, the iterator is built again.
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

// The part that is the same for all kernels. A call sets the addresses of the placeholders' storages as well
// as the pointers in the iterator, since some kernels fill or copy through the tensors. A clone builds
// another iterator.
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
  // The result. The iterator writes this tensor, or a view of it.
  virtual at::Tensor result() const = 0;
  // Called whenever the iterator was built and its placeholders are known.
  virtual void complete() {}

  // Adds a placeholder, which is operand `i` of the iterator. `is_original`: LibTorch converts it to another
  // dtype, and the converted tensor is the operand. Sizes and strides are those of the placeholder in all
  // calls.
  void bind(const at::Tensor& tensor, Address address, const Dims& sizes, const Dims& strides, int i,
            bool is_original = false) {
    bound_.push_back({nullptr, address, i, is_original, {sizes, strides}});
    varies_ |= bound_.back().dims.vary();
    take(bound_.back(), tensor);
    placeholders_.push_back(tensor);
  }

  RunStep run;
  int arguments = 0;
  bool loses_arguments = false;  // the kernel removes an operand from its iterator: it is given a copy

 protected:
  struct Bound {
    c10::StorageImpl* storage = nullptr;  // of a placeholder
    Address address;
    int operand = 0;           // of the iterator
    bool is_original = false;  // see bind
    VaryingDims dims;
  };

  BoundIterator(const BoundIterator&) = default;

  // A copy of the step, whose iterator is built anew before it is used.
  virtual std::unique_ptr<BoundIterator> copy() const = 0;
  // Calls renew(tensor) for each tensor that the iterator is built on, which replaces it, and builds the
  // iterator.
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

  // Builds the iterator for the sizes of a call, or, if `values` is null, for those of the last call. Returns
  // false if LibTorch lays an operand out otherwise than the recording expects.
  bool rebuild(SizeValues* values) {
    for (Bound& one : bound_) {
      if (values != nullptr) one.dims.settle(*values);
    }
    build_again([&](at::Tensor& tensor) { renew(tensor, values != nullptr); });
    if (iterator().ntensors() != arguments) return false;
    bool fits = true;
    std::vector<at::Tensor>
        made;  // replaces placeholders_ at the end: until then bound_ points to their storages
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

  // Replaces a placeholder. Tensors of numbers stay as they are: they are the same in all calls.
  void renew(at::Tensor& tensor, bool resizes) const {
    if (!tensor.defined()) return;
    const auto known = std::ranges::find(bound_, sr::detail::storage_of(tensor), &Bound::storage);
    if (known == bound_.end()) return;
    const bool has_sizes = resizes && known->dims.vary();
    const auto* const impl = tensor.unsafeGetTensorImpl();
    const at::IntArrayRef sizes = has_sizes ? at::IntArrayRef(known->dims.sizes) : impl->sizes(),
                          strides = has_sizes ? at::IntArrayRef(known->dims.strides) : impl->strides();
    tensor = known->operand == 0
                 ? result_placeholder(tensor.scalar_type(), sizes, strides)
                 : placeholder(tensor.scalar_type(), sizes, strides, impl->is_wrapped_number());
  }

  static void take(Bound& bound, const at::Tensor& tensor) {
    bound.storage = tensor.storage().unsafeGetStorageImpl();
    bound.storage->set_data_ptr_noswap(memory::borrow(nullptr));
  }

  std::vector<Bound> bound_;
  std::vector<at::Tensor> placeholders_;
  bool varies_ = false;
};

// A kernel that is called with a TensorIterator.
struct StubStep final : BoundIterator {
  using Tensors = c10::SmallVector<at::Tensor, 3>;
  using Build = std::function<at::TensorIterator(at::Tensor& result, const Tensors& operands)>;

  // `given_result` is undefined if the iterator allocates its result.
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
  // For a kernel that begins by filling its result with zeros, which costs a call of the dispatcher. The step
  // fills the result, and the kernel is given a tensor of one element to fill. Only for a given result.
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
