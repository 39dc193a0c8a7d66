#include "signature.hpp"

#include <exception>
#include <optional>
#include <pybind11/gil_safe_call_once.h>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/function_schema.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/error.hpp>
#include <sr/executor/arguments.hpp>

#include "values.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

bool is_tensor_or_none(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

bool may_hold_tensor(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType || type->kind() == c10::TypeKind::AnyType) return true;
  for (const c10::TypePtr& inner : type->containedTypes()) {
    if (may_hold_tensor(inner)) return true;
  }
  return false;
}

// Converts NumPy arrays and other objects that can share memory with a tensor, also inside containers.
py::object with_tensors(py::handle object) {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> function;
  function.call_once_and_store_result([] { return py::module_::import("sr._arrays").attr("with_tensors"); });
  return function.get_stored()(object);
}

// Empty if the object is not of that type; `why` then holds the reason.
std::optional<c10::IValue> try_convert(py::handle object, const c10::TypePtr& type, std::string& why) {
  try {
    return torch::jit::toIValue(object, type);
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // interrupts are passed on
    why = py::str(error.value());
  } catch (const std::exception& error) {
    why = error.what();
  }
  return std::nullopt;
}

// What torch says, on its own line and no longer: it repeats the value, which may have any length.
std::string reason_of(const std::string& why) {
  constexpr std::size_t kMost = 160;
  std::string line = why.substr(0, why.find('\n'));
  if (line.empty() || why.find("PYBIND11_DETAILED_ERROR_MESSAGES") != std::string::npos) return {};
  if (line.size() > kMost) {
    std::size_t end = kMost;
    while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // within a character of UTF-8
    line = line.substr(0, end) + " ...";
  }
  return "\n" + line;
}

}  // namespace

bool same_name(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (PyUnicode_CHECK_INTERNED(a) && PyUnicode_CHECK_INTERNED(b)) return false;
  return PyUnicode_Compare(a, b) == 0;
}

std::size_t Given::find(PyObject* wanted) const {
  std::size_t i = 0;
  while (i < named() && !same_name(name(i), wanted)) ++i;
  return i;
}

Signature::Signature(const c10::FunctionSchema& schema, std::shared_ptr<const CallSpec> spec)
    : schema_(&schema),
      spec_(std::move(spec)),
      may_name_results_(std::ranges::any_of(
          schema.returns(), [](const c10::Argument& result) { return may_be_named(result.type()); })) {
  for (const c10::Argument& argument : schema.arguments()) {
    PyObject* name = PyUnicode_InternFromString(argument.name().c_str());
    if (name == nullptr) throw py::error_already_set();
    parameters_.push_back(
        {py::reinterpret_steal<py::str>(name), argument.type(), is_tensor_or_none(argument.type())});
  }
}

std::size_t Signature::position_of(PyObject* name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name.ptr() == name) return i;
  }
  std::size_t i = 0;
  while (i < parameters_.size() && !same_name(parameters_[i].name.ptr(), name)) ++i;
  return i;
}

c10::IValue Signature::convert(std::size_t position, PyObject* object) const {
  // A subclass may define its own meaning.
  if (parameters_[position].is_tensor && THPVariable_CheckExact(object)) return THPVariable_Unpack(object);
  return convert_others(position, object);
}

c10::IValue Signature::convert_others(std::size_t position, PyObject* object) const {
  const Parameter& parameter = parameters_[position];
  std::string why;
  const bool array = parameter.is_tensor && object != Py_None && !THPVariable_Check(object);
  if (!array) {
    if (auto value = try_convert(object, parameter.type, why)) return *std::move(value);
  }
  if (may_hold_tensor(parameter.type)) {
    const py::object converted = with_tensors(object);
    if (auto value = try_convert(converted, parameter.type, why)) return *std::move(value);
  }
  throw ArgumentError(
      "The value given for " + sr::detail::name_of(*schema_, position) + " is of Python's type " +
          Py_TYPE(object)->tp_name + ", expected " + parameter.type->annotation_str() + "." +
          (array ? " torch.tensor(...) makes one of numbers and lists." : "") + reason_of(why),
      schema_->arguments()[position].name());
}

py::object Signature::result(c10::IValue value) const {
  return spec_ != nullptr ? spec_->nested(value) : to_python(std::move(value), may_name_results_);
}

std::vector<c10::IValue> Signature::bind(const Given& given, std::size_t without) const {
  if (spec_ == nullptr || spec_->is_flat(given, without)) return bind_flat(given, without);
  const std::vector<py::object> leaves = spec_->flat(given, without);
  std::vector<PyObject*> values;
  values.reserve(leaves.size());
  for (const py::object& leaf : leaves) values.push_back(leaf.ptr());
  return bind_flat(Given{values.data(), values.size(), nullptr}, kNone);
}

std::vector<c10::IValue> Signature::bind_flat(const Given& given, std::size_t without) const {
  const std::size_t wanted = parameters_.size(), named = given.named();
  if (given.count > wanted) refuse(given, without);
  std::vector<c10::IValue> values;
  values.reserve(wanted);
  for (std::size_t i = 0; i < given.count; ++i) values.push_back(convert(i, given.values[i]));
  if (values.size() == wanted && named == (without == kNone ? 0 : 1)) return values;
  values.resize(wanted);
  std::vector<bool> known(wanted);
  for (std::size_t i = 0; i < given.count; ++i) known[i] = true;
  for (std::size_t k = 0; k < named; ++k) {
    if (k == without) continue;
    const std::size_t position = position_of(given.name(k));
    if (position == wanted || known[position]) refuse(given, without);
    values[position] = convert(position, given.values[given.count + k]);
    known[position] = true;
  }
  for (std::size_t i = given.count; i < wanted; ++i) {
    if (known[i]) continue;
    const std::optional<c10::IValue>& value = schema_->arguments()[i].default_value();
    if (!value) refuse(given, without);
    values[i] = *value;
  }
  return values;
}

std::vector<c10::IValue> Signature::bind(const py::tuple& args, const py::dict& kwargs) const {
  std::vector<PyObject*> values;
  for (const py::handle value : args) values.push_back(value.ptr());
  py::tuple names(kwargs.size());
  std::size_t next = 0;
  for (const auto& [name, value] : kwargs) {
    names[next++] = name;
    values.push_back(value.ptr());
  }
  return bind(Given{values.data(), args.size(), names.ptr()});
}

// Throws the error of a call from C++.
void Signature::refuse(const Given& given, std::size_t without) const {
  std::vector<c10::IValue> args(given.count);
  for (std::size_t i = 0; i < std::min(given.count, parameters_.size()); ++i) {
    args[i] = convert(i, given.values[i]);
  }
  KeywordArgs kwargs;
  for (std::size_t k = 0; k < given.named(); ++k) {
    if (k == without) continue;
    const std::size_t position = position_of(given.name(k));
    PyObject* const value = given.values[given.count + k];
    kwargs[py::str(given.name(k))] =
        position == parameters_.size() ? c10::IValue() : convert(position, value);
  }
  bind_arguments(*schema_, args, &kwargs, [](std::size_t, c10::IValue&&) {});
  throw ArgumentError("The call does not fit " + sr::detail::signature_of(*schema_) + ".");
}

}  // namespace sr::python
