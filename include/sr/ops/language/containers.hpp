// Lists, tuples, dictionaries and attributes, which the interpreter handles by special instructions.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/ops/language/layouts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

namespace detail {

inline torch::jit::Stack inputs_of(const NodeView& node) {
  torch::jit::Stack stack;
  stack.reserve(node.input_count());
  for (std::size_t i = 0; i < node.input_count(); ++i) stack.push_back(node.input(i));
  return stack;
}

}  // namespace detail

// Reuses the list that the last run left in the slot, unless something else holds it.
template <class T>
void make_list(NodeView& node) {
  c10::IValue& slot = node.output(0);
  c10::List<T> list =
      slot.isList() && slot.use_count() == 1 ? c10::impl::toTypedList<T>(slot.toList()) : c10::List<T>();
  list.clear();
  list.reserve(node.input_count());
  for (std::size_t i = 0; i < node.input_count(); ++i) list.push_back(node.input(i).to<T>());
  slot = std::move(list);
}

struct ListConstruct {
  void operator()(NodeView& node) const {
    const c10::TypePtr element = node.node().output()->type()->expectRef<c10::ListType>().getElementType();
    switch (element->kind()) {
      case c10::TypeKind::TensorType:
        make_list<at::Tensor>(node);
        return;
      case c10::TypeKind::IntType:
        make_list<std::int64_t>(node);
        return;
      case c10::TypeKind::FloatType:
        make_list<double>(node);
        return;
      case c10::TypeKind::BoolType:
        make_list<bool>(node);
        return;
      default:
        break;
    }
    c10::impl::GenericList list(element);
    list.reserve(node.input_count());
    for (std::size_t i = 0; i < node.input_count(); ++i) list.push_back(node.input(i));
    node.output(0) = list;
  }
};

struct TupleConstruct {
  void operator()(NodeView& node) const {
    std::vector<c10::IValue> elements = detail::inputs_of(node);
    const auto type = node.node().output()->type()->expect<c10::TupleType>();
    node.output(0) = type->name().has_value() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                                              : c10::ivalue::Tuple::create(std::move(elements));
  }
};

// Inputs are keys and values in turn. A later value for a key replaces an earlier one.
struct DictConstruct {
  void operator()(NodeView& node) const {
    const auto& type = node.node().output()->type()->expectRef<c10::DictType>();
    c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
    for (std::size_t i = 0; i + 1 < node.input_count(); i += 2)
      dict.insert_or_assign(node.input(i), node.input(i + 1));
    node.output(0) = dict;
  }
};

struct TupleUnpack {
  void operator()(NodeView& node) const {
    const auto& elements = node.input(0).toTupleRef().elements();
    TORCH_CHECK(elements.size() == node.output_count(), "a tuple of ", elements.size(),
                " values is unpacked into ", node.output_count());
    for (std::size_t i = 0; i < elements.size(); ++i) node.output(i) = elements[i];
  }
};

struct TupleIndex {
  void operator()(NodeView& node) const {
    const auto& elements = node.input(0).toTupleRef().elements();
    const std::int64_t size = static_cast<std::int64_t>(elements.size());
    const std::int64_t given = node.input(1).toInt();
    const std::int64_t index = given < 0 ? given + size : given;
    if (index < 0 || index >= size) throw std::out_of_range("Tuple index out of range");
    node.output(0) = elements[static_cast<std::size_t>(index)];
  }
};

struct ListUnpack {
  void operator()(NodeView& node) const {
    const auto list = node.input(0).toListRef();
    TORCH_CHECK(list.size() == node.output_count(), "Expected ", node.output_count(),
                " elements in a list but found ", list.size());
    for (std::size_t i = 0; i < list.size(); ++i) node.output(i) = list[i];
  }
};

// Finds the attribute's slot by name in each call.
struct GetAttr {
  void operator()(NodeView& node) const {
    const auto& object = node.input(0).toObjectRef();
    node.output(0) = object.getAttr(node.node().s(c10::attr::name));
  }
};

struct SetAttr {
  void operator()(NodeView& node) const {
    const auto object = node.input(0).toObject();
    object->setAttr(node.node().s(c10::attr::name), node.input(1));
  }
};

struct CreateObject {
  void operator()(NodeView& node) const {
    const auto type = node.node().output()->type()->expect<c10::ClassType>();
    node.output(0) = c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type),
                                                 type->numAttributes());
  }
};

struct IsInstance {
  void operator()(NodeView& node) const {
    const c10::TypePtr type = node.input(0).type();
    bool is = false;
    for (const c10::TypePtr& candidate : node.node().tys(c10::attr::types))
      is |= type->isSubtypeOf(*candidate);
    node.output(0) = is;
  }
};

struct Uninitialized {
  void operator()(NodeView& node) const { node.output(0) = c10::IValue::uninitialized(); }
};

// A method that could not be inlined: called through an interface, or recursive.
struct CallMethod {
  void operator()(NodeView& node) const {
    torch::jit::Stack stack = detail::inputs_of(node);
    const auto type = stack.front().toObjectRef().type();
    type->getMethod(node.node().s(c10::attr::name)).run(stack);
    node.output(0) = std::move(stack.back());
  }
};

namespace registered {

inline const NodeOp<"prim::ListConstruct", ListConstruct, NodeKind::native, Facts<Fact::moves_values>,
                    Layouts<&replay::layouts::list>>
    prim_list_construct;
inline const NodeOp<"prim::TupleConstruct", TupleConstruct, NodeKind::native, Facts<Fact::moves_values>>
    prim_tuple_construct;
inline const NodeOp<"prim::DictConstruct", DictConstruct, NodeKind::native, Facts<Fact::moves_values>>
    prim_dict_construct;
inline const NodeOp<"prim::TupleUnpack", TupleUnpack, NodeKind::native, Facts<Fact::moves_values>>
    prim_tuple_unpack;
inline const NodeOp<"prim::TupleIndex", TupleIndex, NodeKind::native, Facts<Fact::moves_values>>
    prim_tuple_index;
inline const NodeOp<"prim::ListUnpack", ListUnpack, NodeKind::native, Facts<Fact::moves_values>,
                    Layouts<&replay::layouts::unpacked_list>>
    prim_list_unpack;
inline const NodeOp<"prim::GetAttr", GetAttr> prim_get_attr;
inline const NodeOp<"prim::SetAttr", SetAttr, NodeKind::native, Facts<Fact::unrepeatable>> prim_set_attr;
inline const NodeOp<"prim::CreateObject", CreateObject> prim_create_object;
inline const NodeOp<"prim::isinstance", IsInstance, NodeKind::native, Facts<Fact::reads_metadata_only>>
    prim_isinstance;
inline const NodeOp<"prim::Uninitialized", Uninitialized, NodeKind::native, Facts<Fact::moves_values>>
    prim_uninitialized;
inline const NodeOp<"prim::CallMethod", CallMethod> prim_call_method;
// Without a functor of sr.
inline const Operator<"prim::TupleSlice", Facts<Fact::moves_values>> facts_of_TupleSlice;

}  // namespace registered
}  // namespace sr::ops
