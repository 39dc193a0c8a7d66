#include "errors.hpp"

#include <exception>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string_view>
#include <utility>

#include <torch/csrc/Exceptions.h>

#include <sr/error.hpp>

namespace py = pybind11;

namespace sr::python {

namespace {

// Makes the exception of sr.errors with this name, of a message and what else its constructor takes. Returns
// null, with a Python error set, if the message cannot be decoded.
template <class... Data>
py::object made(const char* name, const sr::Error& error, const Data&... data) {
  const py::object type = py::module_::import("sr.errors").attr(name);
  // A message may quote bytes of a file that are no UTF-8.
  const std::string_view text = error.what();
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
  return message ? type(message, data...) : py::object();
}

void raise(const py::object& error) {
  if (error) PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
}

// Exceptions that it does not catch go to torch's own translators.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const LoadError& error) {
    raise(made("LoadError", error));
  } catch (const UnsupportedOpError& error) {
    raise(made("UnsupportedOpError", error, py::tuple(py::cast(error.operators()))));
  } catch (const ArgumentError& error) {
    const py::object name = error.argument().empty() ? py::object(py::none()) : py::cast(error.argument());
    raise(made("ArgumentError", error, name));
  } catch (const CancelledError& error) {
    raise(made("CancelledError", error));
  } catch (const BusyError& error) {
    raise(made("BusyError", error));
  } catch (const StateError& error) {
    raise(made("StateError", error));
  } catch (const QuantizationError& error) {
    raise(made("QuantizationError", error));
  } catch (const Error& error) {
    raise(made("Error", error));
  }
}

}  // namespace

void register_errors() {
  py::register_local_exception_translator(&translate);
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (python_error& error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
}

}  // namespace sr::python
