// Running C++ for Python: without the GIL, and with warnings that end in Python's module `warnings`.
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

// Returns what `run` returns. Throws what it throws, and python_error when a warning was made an error.
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
