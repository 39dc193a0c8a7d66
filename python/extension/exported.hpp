// Programs of torch.export in the Python module.
#pragma once

#include <pybind11/pybind11.h>

namespace sr::python {

void define_exported(pybind11::module_& module);

}  // namespace sr::python
