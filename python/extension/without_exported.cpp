// Compiled instead of exported.cpp if sr is built without nlohmann_json, which reads the programs.
#include <pybind11/pybind11.h>

#include <sr/error.hpp>

#include "exported.hpp"

namespace py = pybind11;

namespace sr::python {

void define_exported(py::module_& module) {
  for (const char* name :
       {"prepare_program", "prepare_exported_file", "prepare_exported_bytes", "prepare_pickled_program"}) {
    module.def(name, [](const py::args&, const py::kwargs&) {
      throw UnsupportedOpError(
          "This copy of sr reads no programs of torch.export: nlohmann_json 3 was missing when it was built. "
          "Install it (Debian: nlohmann-json3-dev) and build sr again, or give a scripted or traced module.");
    });
  }
}

}  // namespace sr::python
