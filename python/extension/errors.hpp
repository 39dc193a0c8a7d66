// Exceptions of C++ as exceptions of Python: those of sr as the classes of sr.errors, others as torch gives
// them.
#pragma once

#include <Python.h>

namespace sr::python {

// For functions bound by pybind11.
void register_errors();

// For functions written against Python's own interface: call it in a catch block, then return nullptr.
void set_python_error() noexcept;

}  // namespace sr::python
