// Turns an argument of a serialised node into a value of the graph of the type in the operator's schema.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/export/builder.hpp>
#include <sr/frontend/export/enums.hpp>

namespace sr::exported {

inline std::optional<Value*> Builder::single(const Tagged& given) {
  const auto& [tag, value] = given;
  const auto enumerator = [&](auto number) { return constant(static_cast<std::int64_t>(number)); };
  if (tag == "as_none") return constant(c10::IValue());
  if (tag == "as_tensor") return find(text_of(value, "name", where_));
  if (tag == "as_int") return constant(as_int(value, where_));
  if (tag == "as_bool") return constant(as_bool(value, where_));
  if (tag == "as_float") return constant(as_float(value, where_));
  if (tag == "as_string") return constant(as_string(value, where_));
  if (tag == "as_name") return find(as_string(value, where_));
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool" || tag == "as_optional_tensor") {
    return single(tagged(value, where_));
  }
  if (tag == "as_scalar_type") return enumerator(scalar_type_of(value, where_));
  if (tag == "as_layout") return enumerator(layout_of(value, where_));
  if (tag == "as_memory_format") return enumerator(memory_format_of(value, where_));
  if (tag == "as_device") {
    const std::string& type = text_of(value, "type", where_);
    if (type != "cpu") unsupported("names the device '" + type + "', and sr runs on the CPU only");
    return constant(c10::Device(c10::kCPU));
  }
  if (tag == "as_complex") {
    return constant(c10::complex<double>(as_float(member(value, "real", where_), where_),
                                         as_float(member(value, "imag", where_), where_)));
  }
  return std::nullopt;
}

// Returns the values of an argument that is a list.
inline std::vector<Value*> Builder::elements(const Tagged& given) {
  const auto& [tag, value] = given;
  if (!value.is_array()) malformed(where_, "has an argument of the unknown kind '" + tag + "'");
  std::vector<Value*> items;
  for (const Json& item : value) {
    if (tag == "as_tensors") {
      items.push_back(find(text_of(item, "name", where_)));
    } else if (tag == "as_ints") {
      items.push_back(constant(as_int(item, where_)));
    } else if (tag == "as_floats") {
      items.push_back(constant(as_float(item, where_)));
    } else if (tag == "as_bools") {
      items.push_back(constant(as_bool(item, where_)));
    } else if (tag == "as_strings") {
      items.push_back(constant(as_string(item, where_)));
    } else if (tag == "as_int_lists") {
      items.push_back(list(elements({"as_ints", item}), c10::IntType::get()));
    } else if (tag == "as_float_lists") {
      items.push_back(list(elements({"as_floats", item}), c10::FloatType::get()));
    } else if (tag == "as_nested_tensors") {
      items.push_back(list(elements({"as_tensors", item}), c10::TensorType::get()));
    } else if (tag == "as_sym_ints" || tag == "as_sym_floats" || tag == "as_sym_bools" ||
               tag == "as_optional_tensors") {
      const std::optional<Value*> one = single(tagged(item, where_));
      if (!one) malformed(where_, "has a list with an item of an unknown kind");
      items.push_back(*one);
    } else {
      unsupported("has an argument of the kind '" + tag + "', which sr does not read");
    }
  }
  return items;
}

inline Value* Builder::list(const std::vector<Value*>& items, const c10::TypePtr& element) {
  std::vector<Value*> values;
  values.reserve(items.size());
  for (Value* item : items) values.push_back(coerce(item, element));
  torch::jit::Node* node = graph_.insertNode(graph_.createList(element, values));
  node->setSourceRange(range_);
  return node->output();
}

// Arguments of type Any are not converted.
inline Value* Builder::argument(const Json& given, const c10::TypePtr& formal, int repeat) {
  const Tagged argument = tagged(given, where_);
  if (const std::optional<Value*> one = single(argument)) return coerce(*one, formal, repeat);
  const std::vector<Value*> items = elements(argument);
  c10::TypePtr type = formal;
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  if (const auto wanted = type->cast<c10::ListType>()) return list(items, wanted->getElementType());
  return list(items, items.empty() ? c10::TypePtr(c10::TensorType::get()) : items.front()->type());
}

// Implicit conversions that calls from Python allow and a graph does not.
inline Value* Builder::coerce(Value* value, const c10::TypePtr& formal, int repeat) {
  using c10::TypeKind;
  const TypeKind given = value->type()->kind();
  switch (formal->kind()) {
    case TypeKind::OptionalType:
      return given == TypeKind::NoneType ? value : coerce(value, formal->containedType(0), repeat);
    case TypeKind::FloatType:
      if (given == TypeKind::IntType || given == TypeKind::BoolType || given == TypeKind::NumberType)
        return call("aten::Float", {value});
      return value;
    case TypeKind::IntType:
      if (given == TypeKind::BoolType || given == TypeKind::FloatType || given == TypeKind::NumberType)
        return call("aten::Int", {value});
      return value;
    case TypeKind::BoolType:
      return given == TypeKind::BoolType ? value : truth(value);
    case TypeKind::NumberType:
      return given == TypeKind::BoolType ? call("aten::Int", {value}) : value;
    case TypeKind::ListType:
      if (given == TypeKind::ListType || given == TypeKind::NoneType) return value;
      return list(std::vector<Value*>(static_cast<std::size_t>(repeat), value), formal->containedType(0));
    default:
      return value;
  }
}

inline Value* Builder::truth(Value* value) {
  return value->type()->kind() == c10::TypeKind::BoolType ? value : call("aten::Bool", {value});
}

}  // namespace sr::exported
