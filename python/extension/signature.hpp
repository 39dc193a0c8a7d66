// Converts Python objects to one value for each argument of the schema.
#pragma once

#include <Python.h>
#include <cstddef>
#include <memory>
#include <pybind11/pybind11.h>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "call_spec.hpp"
#include "given.hpp"

namespace sr::python {

class Signature {
 public:
  // Keeps a pointer to the schema. `spec` says how calls nest the arguments and the result, or is null.
  Signature(const c10::FunctionSchema& schema, std::shared_ptr<const CallSpec> spec);

  // Omits the keyword number `without`. Throws ArgumentError. Needs the GIL.
  std::vector<c10::IValue> bind(const Given& given, std::size_t without = kNone) const;
  std::vector<c10::IValue> bind(const pybind11::tuple& args, const pybind11::dict& kwargs) const;

  // True if a call may have a keyword argument of this name.
  bool has(PyObject* name) const {
    return spec_ != nullptr ? spec_->has_keyword(name) : position_of(name) != parameters_.size();
  }
  // True if arguments and results are nested as torch.utils._pytree nests them.
  bool is_nested() const { return spec_ != nullptr; }
  // The Python object for a result. Needs the GIL.
  pybind11::object result(c10::IValue value) const;

 private:
  struct Parameter {
    pybind11::str name;
    c10::TypePtr type;
    bool is_tensor;  // or None
  };

  std::vector<c10::IValue> bind_flat(const Given& given, std::size_t without) const;
  std::size_t position_of(PyObject* name) const;
  c10::IValue convert(std::size_t position, PyObject* object) const;
  c10::IValue convert_others(std::size_t position, PyObject* object) const;
  [[noreturn]] void refuse(const Given& given, std::size_t without) const;

  const c10::FunctionSchema* schema_;
  std::shared_ptr<const CallSpec> spec_;  // null: the arguments are those of the schema
  bool may_name_results_;
  std::vector<Parameter> parameters_;
};

}  // namespace sr::python
