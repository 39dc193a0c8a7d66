// Calls that run while Python does something else.
#pragma once

#include <Python.h>
#include <exception>
#include <memory>
#include <pybind11/pybind11.h>
#include <utility>

#include <ATen/core/ivalue.h>

#include "signature.hpp"

namespace sr::python {

// Whom to tell the result of a call that another thread runs: a function done(result, error) of Python's, one
// of whose arguments is None. The interpreter waits at exit for all that were made.
class Told {
 public:
  // Needs the GIL. `signature` makes the Python object of the result.
  Told(std::shared_ptr<const Signature> signature, pybind11::function done);
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  // Must be called once, without the GIL. Calls release() while it holds the GIL: everything of the call has
  // to be destroyed before Python knows the result, since its thread may only return to code that needs the
  // GIL while the interpreter exists. Ignores errors of `done`.
  template <class Release>
  void end(c10::IValue result, std::exception_ptr thrown, const Release& release) {
    {
      const pybind11::gil_scoped_acquire locked;
      release();
      tell(std::move(result), thrown);
      thrown = nullptr;
    }
    note_ended();
  }
  bool has_ended() const { return done_ == nullptr; }

 private:
  void tell(c10::IValue result, std::exception_ptr thrown);
  static void note_ended();

  std::shared_ptr<const Signature> signature_;
  PyObject* done_;  // owned
};

// Must be called once, when the module is loaded.
void watch_async_calls();

// Binds the arguments at once and runs the call on a thread of ATen's inter-op pool, which then calls
// done(result, error), one of them None. Returns a function without arguments that cancels the call. Throws
// what binding throws.
pybind11::object start(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs,
                       pybind11::function done);

// Returns a torch.Future, as upstream's StaticModule.runAsync does.
pybind11::object run_async(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs);

// Returns when every `done` has returned. The interpreter waits for it at exit, because no thread may outlive
// it.
void wait_for_async_calls();

}  // namespace sr::python
