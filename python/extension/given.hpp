// The arguments of a call from Python.
#pragma once

#include <Python.h>
#include <cstddef>

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

// Compares two strings. Names in a program's text are interned: equal ones are usually one object.
bool same_name(PyObject* a, PyObject* b);

}  // namespace sr::python
