#include "events.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace sr::python {

void log_event(const Event& event) {
  if (Py_IsInitialized() == 0) return;  // a call on a launcher may end after the interpreter
  const py::gil_scoped_acquire gil;
  const py::module_ logging = py::module_::import("logging");
  const py::object logger = logging.attr("getLogger")("sr");
  const py::object level = logging.attr(event.kind == Event::Kind::recorded ? "DEBUG" : "INFO");
  if (logger.attr("isEnabledFor")(level).cast<bool>()) logger.attr("log")(level, "%s", event.message);
}

}  // namespace sr::python
