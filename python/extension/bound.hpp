// sr.BoundCall.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace sr::python {

void define_bound_call(pybind11::module_& module);

// The method of a Caller.
pybind11::object bind(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs,
                      const pybind11::object& out);

}  // namespace sr::python
