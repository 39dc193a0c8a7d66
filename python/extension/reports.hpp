// What sr says about itself, as dictionaries of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <ATen/core/function_schema.h>

#include <sr/runtime_pool.hpp>

namespace sr::python {

// With the printed form under "text".
pybind11::dict described(const PoolReport& report);

// One for each argument, or result, of the schema: (name, type, dtype, shape, default), None where unknown.
pybind11::list described(const std::vector<c10::Argument>& arguments);

}  // namespace sr::python
