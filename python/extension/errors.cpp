#include "errors.hpp"

#include <exception>
#include <pybind11/pybind11.h>
#include <string_view>
#include <utility>

#include <torch/csrc/Exceptions.h>

#include <sr/error.hpp>

namespace py = pybind11;

namespace sr::python {

namespace {

void raise(const char* name, const sr::Error& error) {
  const py::object type = py::module_::import("sr.errors").attr(name);
  // A message may quote bytes of a file that are no UTF-8.
  const std::string_view text = error.what();
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
  if (message) PyErr_SetObject(type.ptr(), message.ptr());
}

// Exceptions that it does not catch go to torch's own translators.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const LoadError& error) {
    raise("LoadError", error);
  } catch (const UnsupportedOp& error) {
    raise("UnsupportedOpError", error);
  } catch (const ArgumentError& error) {
    raise("ArgumentError", error);
  } catch (const CancelledError& error) {
    raise("CancelledError", error);
  } catch (const BusyError& error) {
    raise("BusyError", error);
  } catch (const QuantizationError& error) {
    raise("QuantizationError", error);
  } catch (const Error& error) {
    raise("Error", error);
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
