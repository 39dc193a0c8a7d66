// sr._C.Caller: the callable inside an sr.StaticModule. It uses Python's C API, since a call of a small model
// takes less time than a call through pybind11.
#pragma once

#include <Python.h>
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>
#include <vector>

#include <sr/runtime/carried_state.hpp>
#include <sr/session.hpp>

#include "engine.hpp"
#include "prepared.hpp"
#include "signature.hpp"

namespace sr::python {

struct Callee {
  Callee(std::shared_ptr<Prepared> what, std::shared_ptr<const CallSpec> spec, const std::string& planner,
         const RuntimePoolOptions& options)
      : prepared(std::move(what)),
        signature(std::make_shared<const Signature>(prepared->module.schema(), std::move(spec))),
        engine(make_engine(prepared->module, planner, options)) {}

  // Makes a session, which shares all but the state, and the signature if it carries arguments, with `from`:
  // its module or the session that it is a copy of.
  Callee(const Callee& from, std::unique_ptr<const Session> own,
         std::shared_ptr<const Signature> own_signature)
      : prepared(from.prepared),
        signature(std::move(own_signature)),
        engine(from.engine),
        session(std::move(own)) {}

  // Returns the state of the session. Null if this is a module, whose calls use the module's state.
  SessionState* state() const { return session == nullptr ? nullptr : session->session_state().get(); }
  // Returns null for a module and for a session that carries no arguments.
  const sr::detail::CarriedState* carried() const {
    return session == nullptr ? nullptr : session->carried().get();
  }

  std::shared_ptr<Prepared> prepared;
  std::shared_ptr<const Signature> signature;  // shared with running calls, as is the engine
  std::shared_ptr<Engine> engine;
  std::unique_ptr<const Session> session;  // null for a module
};

// The Python object.
struct Caller {
  PyObject ob_base;  // like PyObject_HEAD
  vectorcallfunc call;
  Callee* callee;  // null before set_callee; read and written atomically
};

// Sets the Callee of a new Caller. Throws ArgumentError if the Caller already has one.
void set_callee(pybind11::handle self, std::unique_ptr<Callee> callee);

// The callee of a Caller, ready for this process. Throws Python's TypeError.
Callee& callee_of(pybind11::handle self);

// Makes the type, which has no methods except the call.
pybind11::object make_caller_type();

// The tensors in `out`: a tensor or array, or containers of them in the order of the results.
std::vector<at::Tensor> buffers_of(const Callee& callee, PyObject* out);

// Calls without the GIL. `state`, `carried` and `options` may be null. `holds_state` says that the caller has
// reserved the state.
c10::IValue call_model(const Engine& engine, SessionState* state, const sr::detail::CarriedState* carried,
                       std::vector<c10::IValue> args, const CallOptions* options, bool holds_state);

// Copies the results of a call into `out`: a tensor, or containers of tensors in the order of the results.
void call_into(const Callee& callee, const std::vector<c10::IValue>& args, PyObject* out);

}  // namespace sr::python
