#include "values.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/base/identity.hpp>

namespace py = pybind11;

namespace sr::python {

namespace {

// The class of a named tuple; its fields tell types of one name apart.
struct NamedTupleClass {
  std::vector<std::string> fields;
  py::object made;
};

bool has_fields(const c10::FunctionSchema& schema, const std::vector<std::string>& fields) {
  return std::ranges::equal(schema.arguments(), fields, {}, &c10::Argument::name);
}

// Classes are never freed: a process has a few, and objects of them may outlive any module.
py::object class_of(const c10::TupleType& type) {
  static auto* const classes = new std::unordered_map<std::string, std::vector<NamedTupleClass>>;
  const c10::FunctionSchema& schema = *type.schema();
  std::vector<NamedTupleClass>& known = (*classes)[type.name()->qualifiedName()];
  for (const NamedTupleClass& each : known) {
    if (has_fields(schema, each.fields)) return each.made;
  }
  NamedTupleClass added;
  py::list defaults;
  for (const c10::Argument& field : schema.arguments()) {
    added.fields.push_back(field.name());
    if (field.default_value()) defaults.append(torch::jit::toPyObject(*field.default_value()));
  }
  added.made =
      py::module_::import("collections")
          .attr("namedtuple")(type.name()->name(), py::cast(added.fields), py::arg("defaults") = defaults);
  return known.emplace_back(std::move(added)).made;
}

py::object tuple_to_python(const c10::IValue& value, bool may_be_named) {
  const auto& elements = value.toTupleRef().elements();
  py::tuple made(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) made[i] = to_python(elements[i], may_be_named);
  if (!may_be_named) return made;
  const c10::TypePtr any = sr::detail::type_of_tuple(value);
  const auto type = any == nullptr ? nullptr : any->cast<c10::TupleType>();
  if (type == nullptr || type->schema() == nullptr || !type->name()) return made;
  return named_tuple(class_of(*type), made);
}

}  // namespace

py::object named_tuple(py::handle type, const py::tuple& elements) {
  const py::tuple arguments = py::make_tuple(elements);
  PyObject* const made =
      PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(type.ptr()), arguments.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

bool may_be_named(const c10::TypePtr& type) {
  if (const auto tuple = type->cast<c10::TupleType>(); tuple && tuple->schema() != nullptr) return true;
  return type->kind() == c10::TypeKind::AnyType || std::ranges::any_of(type->containedTypes(), may_be_named);
}

py::object to_python(c10::IValue value, bool may_be_named) {
  if (value.isTensor())
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(value).toTensor()));
  if (value.isTuple()) return tuple_to_python(value, may_be_named);
  const bool is_plain = value.isIntList() || value.isDoubleList() || value.isBoolList();
  if (value.isList() && !is_plain) {
    const auto elements = value.toListRef();
    py::list made(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) made[i] = to_python(elements[i], may_be_named);
    return made;
  }
  if (value.isGenericDict()) {
    py::dict made;
    for (const auto& entry : value.toGenericDict())
      made[to_python(entry.key(), may_be_named)] = to_python(entry.value(), may_be_named);
    return made;
  }
  return torch::jit::toPyObject(std::move(value));
}

}  // namespace sr::python
