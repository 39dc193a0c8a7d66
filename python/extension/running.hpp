// Runs C++ code for Python: without the GIL, and with warnings passed to Python's module `warnings`.
#pragma once

#include <Python.h>
#include <utility>

#include <torch/csrc/Exceptions.h>

namespace sr::python {

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

// Returns the result of `run`. Throws what it throws, and python_error if a warning was turned into an error.
template <class Run>
auto without_gil(Run&& run) {
  torch::PyWarningHandler warnings;
  try {
    const WithoutGil released;
    return std::forward<Run>(run)();
  } catch (...) {
    warnings.set_in_exception();
    throw;
  }
}

}  // namespace sr::python
