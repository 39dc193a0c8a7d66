// sr._C.Batcher.
#pragma once

#include <pybind11/pybind11.h>

namespace sr::python {

void define_batcher(pybind11::module_& module);

}  // namespace sr::python
