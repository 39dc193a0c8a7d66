#include "conform.hpp"

#include <utility>
#include <vector>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

namespace sr::values {
bool is_sequence(const c10::IValue& value) {
  return value.isTuple() || value.isList();
}

std::vector<c10::IValue> items_of(const c10::IValue& value) {
  return value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
}

namespace {

bool fits(const c10::IValue& value, const c10::TypePtr& type) {
  return value.type()->isSubtypeOf(*type);
}

c10::IValue conform_list(const c10::IValue& value, const c10::TypePtr& element) {
  c10::impl::GenericList result(element);
  for (const c10::IValue& item : items_of(value)) {
    c10::IValue converted = conform(item, element);
    if (!fits(converted, element)) return value;
    result.push_back(std::move(converted));
  }
  return result;
}

c10::IValue conform_dict(const c10::IValue& value, const c10::DictType& type) {
  c10::impl::GenericDict result(type.getKeyType(), type.getValueType());
  for (const auto& item : value.toGenericDict()) {
    c10::IValue key = conform(item.key(), type.getKeyType());
    c10::IValue mapped = conform(item.value(), type.getValueType());
    if (!fits(key, type.getKeyType()) || !fits(mapped, type.getValueType())) return value;
    result.insert_or_assign(std::move(key), std::move(mapped));
  }
  return result;
}

c10::IValue conform_tuple(const c10::IValue& value, const c10::TupleTypePtr& type) {
  std::vector<c10::IValue> items = value.toTupleRef().elements().vec();
  if (items.size() != type->elements().size()) return value;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = conform(std::move(items[i]), type->elements()[i]);
    if (!fits(items[i], type->elements()[i])) return value;
  }
  return c10::ivalue::Tuple::createNamed(std::move(items), type);
}

}  // namespace

c10::IValue conform(c10::IValue value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      return value.isNone()
                 ? value
                 : conform(std::move(value), type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::FloatType:
      return value.isInt() ? c10::IValue(static_cast<double>(value.toInt())) : value;
    case c10::TypeKind::ListType:
      if (!is_sequence(value) || fits(value, type)) return value;
      return conform_list(value, type->expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::DictType:
      if (!value.isGenericDict() || fits(value, type)) return value;
      return conform_dict(value, type->expectRef<c10::DictType>());
    case c10::TypeKind::TupleType:
      return value.isTuple() ? conform_tuple(value, type->expect<c10::TupleType>()) : value;
    case c10::TypeKind::UnionType:
      if (fits(value, type)) return value;
      for (const c10::TypePtr& member : type->expectRef<c10::UnionType>().containedTypes()) {
        if (c10::IValue converted = conform(value, member); fits(converted, member)) return converted;
      }
      return value;
    default:
      return value;
  }
}

}  // namespace sr::values
