// Calls that run while Python does something else.
#pragma once

#include <Python.h>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <pybind11/pybind11.h>
#include <stop_token>
#include <utility>

#include <ATen/core/ivalue.h>

#include "signature.hpp"

namespace sr::python {

// Whom to tell the result of a call that another thread runs: a function done(result, error) of Python's, one
// of whose arguments is None. The interpreter waits at exit for all that were made.
class Told : public std::enable_shared_from_this<Told> {
 public:
  // Needs the GIL. `signature` makes the Python object of the result.
  Told(std::shared_ptr<const Signature> signature, pybind11::function done);
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  // Must be called once, without the GIL. Calls release() while it holds the GIL, and before Python knows the
  // result: everything of the call has to be destroyed then, because it may need the interpreter. Ignores
  // errors of `done`. If the result is awaited, returns before that: a thread that waits for the GIL tells
  // the results of all such calls that end meanwhile.
  void end(c10::IValue result, std::exception_ptr thrown, std::function<void()> release);
  bool has_ended() const { return has_ended_; }
  // `done` must not wait for other calls from now on.
  void note_awaited() { is_awaited_ = true; }

 private:
  friend class Teller;
  void tell(c10::IValue result, std::exception_ptr thrown);

  std::shared_ptr<const Signature> signature_;
  PyObject* done_;  // owned
  bool has_ended_ = false;
  std::atomic<bool> is_awaited_ = false;
};

// What Python holds of a running call.
struct RunningCall {
  std::stop_source stop;
  std::shared_ptr<Told> told;
};

// Adds RunningCall to the extension, and what waits for all calls. Must be called once.
void define_async_calls(pybind11::module_& module);

// Binds the arguments at once and runs the call on a thread of ATen's inter-op pool, which then calls
// done(result, error), one of them None. Throws what binding throws.
RunningCall start(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs,
                  pybind11::function done);

// Returns a torch.Future, as upstream's StaticModule.runAsync does.
pybind11::object run_async(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs);

}  // namespace sr::python
