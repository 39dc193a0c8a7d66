#include "values.hpp"

#include <algorithm>
#include <mutex>
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

// The classes that the process has made, by the qualified name of their types.
class NamedTupleClasses {
 public:
  // Returns a null object if there is none yet.
  py::object find(const std::string& name, const c10::FunctionSchema& schema) {
    const std::scoped_lock lock(mutex_);
    return find_locked(name, schema);
  }
  // Returns the class that another thread has added meanwhile, if there is one.
  py::object add(const std::string& name, const c10::FunctionSchema& schema, NamedTupleClass made) {
    const std::scoped_lock lock(mutex_);
    if (py::object known = find_locked(name, schema)) return known;
    return by_name_[name].emplace_back(std::move(made)).made;
  }

 private:
  py::object find_locked(const std::string& name, const c10::FunctionSchema& schema) {
    for (const NamedTupleClass& each : by_name_[name]) {
      if (has_fields(schema, each.fields)) return each.made;
    }
    return {};
  }

  std::mutex mutex_;  // not held while Python code runs, which may wait for another thread
  std::unordered_map<std::string, std::vector<NamedTupleClass>> by_name_;
};

// Classes are never freed: a process has a few, and objects of them may outlive any module.
py::object class_of(const c10::TupleType& type) {
  static auto* const classes = new NamedTupleClasses;
  const c10::FunctionSchema& schema = *type.schema();
  const std::string name = type.name()->qualifiedName();
  if (py::object known = classes->find(name, schema)) return known;
  NamedTupleClass added;
  py::list defaults;
  for (const c10::Argument& field : schema.arguments()) {
    added.fields.push_back(field.name());
    if (field.default_value()) defaults.append(torch::jit::toPyObject(*field.default_value()));
  }
  added.made =
      py::module_::import("collections")
          .attr("namedtuple")(type.name()->name(), py::cast(added.fields), py::arg("defaults") = defaults);
  return classes->add(name, schema, std::move(added));
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
