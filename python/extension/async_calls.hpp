// Calls that run while Python does something else.
#pragma once

#include <pybind11/pybind11.h>

namespace sr::python {

// Must be called once, when the module is loaded.
void watch_async_calls();

// Binds the arguments at once and runs the call on a thread of ATen's inter-op pool, which then calls
// done(result, error), one of them None. Returns a function without arguments that cancels the call. Throws
// what binding throws.
pybind11::object start(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs,
                       pybind11::function done);

// The same as a torch.Future, like upstream's StaticModule.runAsync.
pybind11::object run_async(pybind11::handle self, const pybind11::tuple& args, const pybind11::dict& kwargs);

// Returns when every `done` has returned. The interpreter waits for it at exit, because no thread may outlive
// it.
void wait_for_async_calls();

}  // namespace sr::python
