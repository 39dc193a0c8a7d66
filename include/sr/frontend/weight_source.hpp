// The source of a weight: an attribute of the caller's module, a constant of the caller's graph, or a tensor
// of the StaticModule itself.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>

namespace sr {

// Reads an attribute anew each time, since an assignment replaces the tensor. A constant of a graph is always
// the same tensor. Keeps the caller's object or tensor alive.
class WeightSource {
 public:
  WeightSource(std::string name, c10::intrusive_ptr<c10::ivalue::Object> object, std::size_t attribute)
      : name_(std::move(name)), object_(std::move(object)), attribute_(attribute) {}
  explicit WeightSource(c10::IValue constant) : constant_(std::move(constant)) {}

  // A tensor, or a container of tensors.
  const c10::IValue& now() const { return object_ ? object_->getSlot(attribute_) : constant_; }

  // "layer.weight"; empty for a constant of a graph.
  const std::string& name() const { return name_; }
  // The object whose attribute it is; null for a constant.
  const c10::ivalue::Object* object() const { return object_.get(); }
  std::size_t attribute() const { return attribute_; }

  // Returns the source after `tensor` replaced the weight. Only the module may hold `tensor`.
  WeightSource replaced_by(at::Tensor tensor) const {
    WeightSource made{c10::IValue(std::move(tensor))};
    made.name_ = name_;
    made.is_private_ = made.is_replaced_ = true;
    return made;
  }
  bool is_replaced() const { return is_replaced_; }

  // True if only the module holds the weight.
  bool is_private() const { return is_private_; }
  void mark_as_private() { is_private_ = true; }

  // Running statistics, which norms write in training without counting a version.
  bool is_statistic() const { return is_statistic_; }
  void mark_as_statistic() { is_statistic_ = true; }

 private:
  std::string name_;
  c10::intrusive_ptr<c10::ivalue::Object> object_;
  std::size_t attribute_ = 0;
  c10::IValue constant_;
  bool is_statistic_ = false;
  bool is_private_ = false;
  bool is_replaced_ = false;
};

// A value that outlives calls and that the graph may write or assign: a buffer, or an attribute of any type
// but objects. It is an input of the graph behind the arguments, and every stream of calls has its own.
struct StateVariable {
  WeightSource source;
  c10::IValue first;        // what it is before the first call; shares no memory with the source
  bool is_written = false;  // in place
};

namespace detail {

// True if a graph can hold the tensor as a constant, and sr can tell when it changes.
inline bool can_be_weight(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.is_cpu() && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

inline bool can_be_weight(const c10::IValue& value) {
  if (value.isTensor()) return can_be_weight(value.toTensor());
  if (!value.isList() && !value.isTuple() && !value.isGenericDict()) return false;
  bool found = false, all = true;
  each_tensor(value, [&](const at::Tensor& tensor) {
    found = true;
    all &= can_be_weight(tensor);
  });
  return found && all;
}

// An alias of the tensor, which holds its storage. It requires gradients if the tensor does and
// `with_gradients` is true: no gradient is computed, but operators may ask (base/through_autograd.hpp).
inline at::Tensor alias_of(const at::Tensor& tensor, bool with_gradients) {
  at::Tensor alias = tensor.detach();
  if (with_gradients && tensor.requires_grad() && !alias.is_inference()) alias.requires_grad_();
  return alias;
}

// The value as a constant of a graph, which may not require gradients: replaces such tensors by aliases.
inline c10::IValue without_gradients(const c10::IValue& value) {
  bool required = false;
  each_tensor(value, [&](const at::Tensor& tensor) { required |= tensor.requires_grad(); });
  if (!required) return value;
  return with_tensors(
      value, [](const at::Tensor& tensor) { return tensor.requires_grad() ? tensor.detach() : tensor; });
}

}  // namespace detail

}  // namespace sr
