// Python objects: what callers give, and results of calls.
#pragma once

#include <pybind11/pybind11.h>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace sr::python {

// Copies a dictionary that other threads may change.
inline pybind11::dict snapshot(const pybind11::dict& given) {
  return pybind11::reinterpret_steal<pybind11::dict>(PyDict_Copy(given.ptr()));
}

// True if a value of the type may be a named tuple, or contain one.
bool may_be_named(const c10::TypePtr& type);

// An object of a class that collections.namedtuple has made, as its method _make makes one.
pybind11::object named_tuple(pybind11::handle type, const pybind11::tuple& elements);

// Converts like torch.jit.toPyObject, but makes the Python class of a named tuple once and reuses it.
// `may_be_named` says whether tuples in the value may have names; LibTorch infers the type of each tuple that
// it is asked about. Needs the GIL.
pybind11::object to_python(c10::IValue value, bool may_be_named);

}  // namespace sr::python
