// Converts Python objects to one value for each argument of the schema.
#pragma once

#include <Python.h>
#include <cstddef>
#include <pybind11/pybind11.h>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace sr::python {

// Arguments in the form of Python's vectorcall: `count` positional ones, then the values of `names`, a tuple
// or null.
struct Given {
  PyObject* const* values = nullptr;
  std::size_t count = 0;
  PyObject* names = nullptr;

  std::size_t named() const {
    return names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names));
  }
  PyObject* name(std::size_t i) const { return PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)); }
  // The position of the keyword among the names, or named() if it was not passed.
  std::size_t find(PyObject* wanted) const;
};

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Signature {
 public:
  // Keeps a pointer to the schema.
  explicit Signature(const c10::FunctionSchema& schema);

  // Omits the keyword number `without`. Throws ArgumentError. Needs the GIL.
  std::vector<c10::IValue> bind(const Given& given, std::size_t without = kNone) const;
  std::vector<c10::IValue> bind(const pybind11::tuple& args, const pybind11::dict& kwargs) const;

  // Whether the model has an argument of this name.
  bool has(PyObject* name) const { return position_of(name) != parameters_.size(); }

 private:
  struct Parameter {
    pybind11::str name;
    c10::TypePtr type;
    bool is_tensor;  // or None
  };

  std::size_t position_of(PyObject* name) const;
  c10::IValue convert(std::size_t position, PyObject* object) const;
  c10::IValue convert_others(std::size_t position, PyObject* object) const;
  [[noreturn]] void refuse(const Given& given, std::size_t without) const;

  const c10::FunctionSchema* schema_;
  std::vector<Parameter> parameters_;
};

// Compares two strings. Names in a program's text are interned: equal ones are usually one object.
bool same_name(PyObject* a, PyObject* b);

}  // namespace sr::python
