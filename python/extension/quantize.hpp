// sr.quantize, for the Python module.
#pragma once

#include <pybind11/pybind11.h>

namespace sr::python {

// Defines `quantize`.
void define_quantize(pybind11::module_& module);

}  // namespace sr::python
