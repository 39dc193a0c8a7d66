// Translates C++ exceptions to Python: sr's to the classes of sr.errors, others as torch does.
#pragma once

#include <Python.h>

namespace sr::python {

// For functions bound by pybind11.
void register_errors();

// For functions that use Python's C API: call it in a catch block, then return nullptr.
void set_python_error() noexcept;

}  // namespace sr::python
