// Calls of operators of ATen, and of others that are registered with the dispatcher.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ScalarOps.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/frontend/export/argument_values.hpp>
#include <sr/frontend/export/assertions.hpp>
#include <sr/frontend/export/builder.hpp>
#include <sr/frontend/export/quantization.hpp>
#include <sr/graph/own_operators.hpp>

namespace sr::exported {

namespace detail {

// Operators on symbolic numbers and their counterparts in the language, and one that differs for autograd
// only.
inline constexpr std::array<std::pair<std::string_view, const char*>, 5> kRenamed{{
    {"aten::sym_size.int", "aten::size"},
    {"aten::sym_numel", "aten::numel"},
    {"aten::sym_stride.int", "aten::stride"},
    {"aten::sym_storage_offset", "aten::storage_offset"},
    {"aten::detach_", "aten::detach"},
}};

// Operators that restate dtypes and ranges known to export. Conditions on data are asserted by other nodes.
inline constexpr std::array<std::string_view, 3> kRestating{
    "aten::_assert_tensor_metadata", "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"};

inline std::string key_of(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

// Operators that return their input outside of training.
inline constexpr std::array<std::string_view, 6> kDropouts{
    "aten::dropout",          "aten::dropout_",      "aten::feature_dropout",
    "aten::feature_dropout_", "aten::alpha_dropout", "aten::feature_alpha_dropout"};

// "aten.add.Tensor" names aten::add.Tensor, "aten.relu.default" names aten::relu.
inline std::optional<c10::OperatorName> operator_name(const std::string& target) {
  const auto space = target.find('.'), last = target.rfind('.');
  if (space == std::string::npos || last == space) return std::nullopt;
  const std::string overload = target.substr(last + 1);
  return c10::OperatorName(target.substr(0, space) + "::" + target.substr(space + 1, last - space - 1),
                           overload == "default" ? "" : overload);
}

// True if `other` takes numbers in place of tensors of `schema`, and is otherwise equal.
inline bool takes_numbers(const c10::FunctionSchema& schema, const c10::FunctionSchema& other,
                          const std::vector<bool>& is_number) {
  if (schema.arguments().size() != other.arguments().size()) return false;
  for (std::size_t i = 0; i < is_number.size(); ++i) {
    const c10::TypePtr type = other.arguments()[i].type();
    if (is_number[i] ? type->kind() != c10::TypeKind::NumberType : *type != *schema.arguments()[i].type())
      return false;
  }
  return true;
}

// Overloads that differ in an argument which is None, so that LibTorch finds the other one, which computes
// the same.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTwins{{
    {"aten::upsample_nearest1d.vec", "aten::upsample_nearest1d"},
    {"aten::_upsample_nearest_exact1d.vec", "aten::_upsample_nearest_exact1d"},
    {"aten::upsample_linear1d.vec", "aten::upsample_linear1d"},
    {"aten::linalg_pinv.atol_rtol_tensor", "aten::linalg_pinv.atol_rtol_float"},
    {"aten::linalg_matrix_rank.atol_rtol_float", "aten::linalg_matrix_rank.atol_rtol_tensor"},
}};
inline bool computes_the_same(const c10::OperatorName& wanted, const c10::FunctionSchema& found) {
  return std::ranges::any_of(
      kTwins, [given = key_of(wanted), other = key_of(found.operator_name())](const auto& twins) {
        return twins.first == given && twins.second == other;
      });
}

inline bool is_number_for_tensor(const c10::Argument& argument, const Value* value) {
  if (argument.type()->kind() != c10::TypeKind::TensorType) return false;
  const c10::TypeKind given = value->type()->kind();
  return given == c10::TypeKind::IntType || given == c10::TypeKind::FloatType ||
         given == c10::TypeKind::BoolType || given == c10::TypeKind::NumberType ||
         given == c10::TypeKind::ComplexType;
}

}  // namespace detail

inline void Builder::add_operator(const Json& node, const std::string& target) {
  std::optional<c10::OperatorName> name = detail::operator_name(target);
  if (!name) malformed(where_, "has no target of the form torch.ops.namespace.name.overload");
  if (add_special(node, *name)) return;
  if (detail::key_of(*name) == "aten::view.dtype") {
    sr::detail::register_own_operators();
    name = c10::OperatorName("sr::view", "dtype");
  }
  for (const auto& [symbolic, own] : detail::kRenamed) {
    if (detail::key_of(*name) == symbolic) name = c10::OperatorName(own, name->overload_name);
  }
  const auto op = torch::jit::findOperatorFor(*name);
  if (op == nullptr) {
    unsupported("calls " + detail::key_of(*name) +
                ", an operator that is not registered; load the library that registers it first");
  }
  add_call(node, *op);
}

// Assertions, and reads of a tensor's only element.
inline bool Builder::add_special(const Json& node, const c10::OperatorName& name) {
  const std::string key = detail::key_of(name);
  if (std::ranges::find(detail::kRestating, key) != detail::kRestating.end()) return true;
  if (key == "aten::_assert_scalar" || key == "aten::_assert_async.msg" || key == "aten::_assert_async") {
    const Json& inputs = items_of(node, "inputs", where_);
    Value* condition = argument(input(node, 0), c10::AnyType::get());
    std::string message = "an assertion of the exported program failed";
    if (inputs.size() > 1) {
      const Tagged text = tagged(input(node, 1), where_);
      if (text.tag == "as_string") message = as_string(text.value, where_);
    }
    require(condition, message, "sr.Error");
    return true;
  }
  if (std::ranges::find(detail::kDropouts, key) != detail::kDropouts.end()) return skip_dropout(node);
  if (key == "export::access_subclass_inner_tensor") return take_part(node);
  if (key == "aten::_to_copy") return add_conversion(node);
  if (add_quantization(node, key)) return true;
  if (key != "aten::item" && key != "aten::_local_scalar_dense") return false;
  Value* tensor = argument(input(node, 0), c10::TensorType::get());
  const Json& results = items_of(node, "outputs", where_);
  const std::string tag = results.empty() ? "" : tagged(results[0], where_).tag;
  const char* const read = tag == "as_sym_float"  ? "aten::Float"
                           : tag == "as_sym_bool" ? "aten::Bool"
                                                  : "aten::Int";
  define_results(node, {call(read, {tensor})});
  return true;
}

// Adds aten::to or aten::clone for aten::_to_copy, which replaces both in decomposed programs. Returns false,
// and adds nothing, if the call sets a layout, a device other than the CPU, or pinned memory.
inline bool Builder::add_conversion(const Json& node) {
  static const c10::FunctionSchema& schema =
      torch::jit::findOperatorFor(c10::OperatorName("aten::_to_copy", ""))->schema();
  const Values values = arguments_of(node, schema);
  const auto given = [&](const char* name) {
    const auto position = static_cast<std::size_t>(*schema.argumentIndexWithName(name));
    Value* const value = values[position];
    return value != nullptr && !value->mustBeNone() ? value : nullptr;
  };
  const auto is_not = [&](const char* name, const auto& usual) {
    Value* const value = given(name);
    return value != nullptr && torch::jit::constant_as<std::decay_t<decltype(usual)>>(value) != usual;
  };
  if (is_not("layout", at::kStrided) || is_not("pin_memory", false) || is_not("device", at::Device(at::kCPU)))
    return false;
  Value* const self = given("self");
  Value* const dtype = given("dtype");
  Value* format = given("memory_format");
  if (self == nullptr) malformed(where_, "gives no argument 'self'");
  if (format == nullptr) format = constant(c10::IValue());
  define_results(node, {dtype == nullptr ? call("aten::clone", {self, format})
                                         : call("aten::to", {self, dtype, constant(/*non_blocking=*/false),
                                                             constant(/*copy=*/true), format})});
  return true;
}

// Returns false if the operator only matters in training.
inline bool Builder::skip_dropout(const Json& node) {
  const Json& inputs = items_of(node, "inputs", where_);
  if (inputs.size() != 3) return false;
  const Tagged train = tagged(input(node, 2), where_);
  if (train.tag != "as_bool" || as_bool(train.value, where_)) return false;
  define_results(node, {argument(input(node, 0), c10::TensorType::get())});
  return true;
}

// The overload that takes numbers where `inputs` have numbers in place of tensors, which calls from Python
// allow.
inline const torch::jit::Operator* Builder::taking_numbers(const c10::FunctionSchema& schema,
                                                           const Values& inputs) const {
  std::vector<bool> is_number;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    is_number.push_back(detail::is_number_for_tensor(schema.arguments()[i], inputs[i]));
  }
  if (std::ranges::find(is_number, true) == is_number.end()) return nullptr;
  for (const auto& other : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(schema.name()))) {
    if (detail::takes_numbers(schema, other->schema(), is_number)) return other.get();
  }
  return nullptr;
}

// A tensor that is filled with a bool has dtype bool. In the graph the bool has become an integer.
inline void Builder::keep_bools(const c10::FunctionSchema& schema, Values& inputs) {
  if (schema.name() != "aten::full" && schema.name() != "aten::scalar_tensor") return;
  const auto dtype = schema.argumentIndexWithName("dtype");
  const auto filling = schema.argumentIndexWithName(schema.name() == "aten::full" ? "fill_value" : "s");
  if (!dtype || !filling ||
      inputs[static_cast<std::size_t>(*dtype)]->type()->kind() != c10::TypeKind::NoneType)
    return;
  const torch::jit::Node* made = inputs[static_cast<std::size_t>(*filling)]->node();
  if (made->kind() == c10::aten::Int && made->input(0)->type()->kind() == c10::TypeKind::BoolType) {
    inputs[static_cast<std::size_t>(*dtype)] = constant(static_cast<std::int64_t>(c10::ScalarType::Bool));
  }
}

inline void Builder::add_call(const Json& node, const torch::jit::Operator& op) {
  const c10::FunctionSchema& schema = op.schema();
  for (const Json& given : items_of(node, "inputs", where_)) {
    const std::string& name = text_of(given, "name", where_);
    if (schema.argumentIndexWithName(name)) continue;
    malformed(where_, "gives an argument '" + name + "' that " + detail::key_of(schema.operator_name()) +
                          " does not take");
  }
  Values inputs = arguments_of(node, schema);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) continue;
    const c10::Argument& formal = schema.arguments()[i];
    if (!formal.default_value())
      malformed(where_, "gives no value for the argument '" + formal.name() + "' of " +
                            detail::key_of(schema.operator_name()));
    inputs[i] = constant(*formal.default_value());
  }
  keep_bools(schema, inputs);
  const torch::jit::Operator* chosen = taking_numbers(schema, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (chosen != nullptr) {
      inputs[i] = coerce(inputs[i], chosen->schema().arguments()[i].type());
    } else if (detail::is_number_for_tensor(schema.arguments()[i], inputs[i])) {
      const std::optional<c10::IValue> number = torch::jit::toIValue(inputs[i]);
      if (!number)
        unsupported("gives a number that is computed for the tensor '" + schema.arguments()[i].name() + "'");
      at::Tensor wrapped = at::scalar_to_tensor(number->toScalar());
      wrapped.unsafeGetTensorImpl()->set_wrapped_number(true);
      inputs[i] = constant(wrapped);
    }
  }
  const c10::OperatorName& wanted = (chosen != nullptr ? chosen->schema() : schema).operator_name();
  torch::jit::Node* call =
      insert(c10::Symbol::fromQualString(schema.name()), inputs, schema.returns().size());
  for (std::size_t i = 0; i < schema.returns().size(); ++i)
    call->output(i)->setType(schema.returns()[i].type());
  const c10::FunctionSchema* const found = call->maybeSchema();
  if (found == nullptr || (found->operator_name() != wanted && !detail::computes_the_same(wanted, *found))) {
    unsupported("gives arguments that " + detail::key_of(wanted) +
                " does not take, or that another overload takes first");
  }
  define_results(node, call->outputs().vec());
}

}  // namespace sr::exported
