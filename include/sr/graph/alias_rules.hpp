// What types and schemas say about aliases: which values can hold a tensor, and which results may be an
// input.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr {

namespace detail {

inline bool may_hold_tensor(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::GeneratorType:
    case c10::TypeKind::EnumType:
      return false;
    case c10::TypeKind::ListType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::DictType: {
      const auto contained = type->containedTypes();
      return std::any_of(contained.begin(), contained.end(), may_hold_tensor);
    }
    default:
      return true;
  }
}

inline bool may_hold_container(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ListType || type->kind() == c10::TypeKind::DictType) return true;
  const auto contained = type->containedTypes();
  return type->kind() == c10::TypeKind::AnyType ||
         std::any_of(contained.begin(), contained.end(), may_hold_container);
}

// visit(i) for each argument that the schema says is written, of the first `count`.
template <class Visit>
void each_written(const c10::FunctionSchema& schema, std::size_t count, const Visit& visit) {
  for (std::size_t i = 0; i < schema.arguments().size() && i < count; ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) visit(i);
  }
}

// A norm that trains writes its running statistics, arguments 3 and 4, and its schema does not say so;
// LibTorch's AliasDb knows it by name (analyzeBatchNorm, analyzeInstanceNorm).
inline bool may_train_statistics(const torch::jit::Node& node) {
  static const std::unordered_set<c10::Symbol> norms = [] {
    std::unordered_set<c10::Symbol> kinds;
    for (const char* name : {"aten::batch_norm", "aten::instance_norm", "aten::native_batch_norm",
                             "aten::_batch_norm_impl_index"}) {
      kinds.insert(c10::Symbol::fromQualString(name));
    }
    return kinds;
  }();
  if (norms.count(node.kind()) == 0 || node.inputs().size() <= 5) return false;
  const auto is_given = [&](std::size_t i) {
    return node.input(i)->type()->kind() != c10::TypeKind::NoneType;
  };
  return (is_given(3) || is_given(4)) && torch::jit::toIValue(node.input(5)) != c10::IValue(false);
}

// visit(i) for each of the node's inputs that it may write.
template <class Visit>
void each_written(const torch::jit::Node& node, const Visit& visit) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return;
  each_written(*schema, node.inputs().size(), visit);
  if (!may_train_statistics(node)) return;
  visit(std::size_t{3});
  visit(std::size_t{4});
}

// The operator that the node calls through the dispatcher. Nothing for control flow and for operators of the
// language on numbers and containers.
inline std::optional<c10::OperatorHandle> dispatched(const torch::jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || node.kind().is_prim()) return std::nullopt;
  return c10::Dispatcher::singleton().findSchema(schema->operator_name());
}

// Composite operators that call a kernel whatever their arguments are, so that every result is a new tensor.
inline bool ends_in_kernel(const std::string& name) {
  static const std::unordered_set<std::string> names{"aten::adaptive_avg_pool1d",
                                                     "aten::adaptive_avg_pool2d",
                                                     "aten::adaptive_avg_pool3d",
                                                     "aten::avg_pool1d",
                                                     "aten::batch_norm",
                                                     "aten::bilinear",
                                                     "aten::clip",
                                                     "aten::concat",
                                                     "aten::concatenate",
                                                     "aten::conv1d",
                                                     "aten::conv2d",
                                                     "aten::conv3d",
                                                     "aten::conv_transpose1d",
                                                     "aten::conv_transpose2d",
                                                     "aten::conv_transpose3d",
                                                     "aten::cosine_similarity",
                                                     "aten::cross_entropy_loss",
                                                     "aten::divide",
                                                     "aten::embedding_bag",
                                                     "aten::group_norm",
                                                     "aten::instance_norm",
                                                     "aten::layer_norm",
                                                     "aten::linear",
                                                     "aten::log_softmax",
                                                     "aten::matmul",
                                                     "aten::max_pool1d",
                                                     "aten::max_pool2d",
                                                     "aten::max_pool3d",
                                                     "aten::multiply",
                                                     "aten::one_hot",
                                                     "aten::outer",
                                                     "aten::prelu",
                                                     "aten::relu6",
                                                     "aten::rms_norm",
                                                     "aten::scaled_dot_product_attention",
                                                     "aten::selu",
                                                     "aten::softmax",
                                                     "aten::square",
                                                     "aten::subtract",
                                                     "aten::true_divide",
                                                     "aten::upsample_bicubic2d",
                                                     "aten::upsample_bilinear2d",
                                                     "aten::upsample_linear1d",
                                                     "aten::upsample_nearest1d",
                                                     "aten::upsample_nearest2d",
                                                     "aten::upsample_nearest3d",
                                                     "aten::upsample_trilinear3d"};
  return names.count(name) != 0;
}

// A composite op is implemented by other ops: even without an alias annotation it may return its input
// (dropout in evaluation, type_as, atleast_1d). An op with a kernel of its own makes new results.
inline bool may_return_input(const c10::FunctionSchema& schema, const c10::OperatorHandle& handle,
                             std::size_t i) {
  const auto annotated = [](const c10::Argument& argument) { return argument.alias_info() != nullptr; };
  if (std::any_of(schema.returns().begin(), schema.returns().end(), annotated))
    return i >= schema.arguments().size() || annotated(schema.arguments()[i]);
  if (ends_in_kernel(schema.name())) return false;
  return handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace detail

}  // namespace sr
