#include "caller.hpp"

#include <atomic>
#include <structmember.h>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/base/forks.hpp>
#include <sr/error.hpp>
#include <sr/executor/copied_results.hpp>

#include "errors.hpp"
#include "running.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

// Interned once and kept.
PyObject* name_of_out() {
  static PyObject* const name = PyUnicode_InternFromString("out");
  return name;
}

// `nested`: pytree's types are containers, too, and None stands for a result that is not a tensor.
void add_buffers(py::handle out, bool nested, std::vector<at::Tensor>& buffers) {
  if (nested && out.is_none()) return;
  if (THPVariable_Check(out.ptr())) {
    buffers.push_back(THPVariable_Unpack(out.ptr()));
  } else if (py::isinstance<py::list>(out) || py::isinstance<py::tuple>(out)) {
    for (const py::handle element : out) add_buffers(element, nested, buffers);
  } else if (py::isinstance<py::dict>(out)) {
    for (const py::handle element : py::reinterpret_steal<py::list>(PyDict_Values(out.ptr())))
      add_buffers(element, nested, buffers);
  } else {
    if (nested) {
      const py::list leaves = py::module_::import("torch.utils._pytree").attr("tree_leaves")(out);
      if (leaves.size() != 1 || !out.is(leaves[0])) {
        for (const py::handle leaf : leaves) add_buffers(leaf, nested, buffers);
        return;
      }
    }
    const py::object tensor = py::module_::import("sr._arrays").attr("buffer")(out);
    buffers.push_back(THPVariable_Unpack(tensor.ptr()));
  }
}

PyObject* new_reference(py::handle object) {
  return object.inc_ref().ptr();
}

// The vectorcall function of every Caller.
PyObject* call(PyObject* self, PyObject* const* values, std::size_t flagged, PyObject* names) {
  try {
    Callee& callee = callee_of(self);
    const Given given{values, static_cast<std::size_t>(PyVectorcall_NARGS(flagged)), names};
    std::size_t out = given.find(name_of_out());
    if (out == given.named() || callee.signature->has(name_of_out())) out = kNone;
    std::vector<c10::IValue> args = callee.signature->bind(given, out);
    if (out != kNone && values[given.count + out] != Py_None) {
      PyObject* const buffers = values[given.count + out];
      call_into(callee, args, buffers);
      return new_reference(buffers);
    }
    c10::IValue result = without_gil([&] {
      return call_model(*callee.engine, callee.state(), callee.carried(), std::move(args), nullptr,
                        /*holds_state=*/false);
    });
    return callee.signature->result(std::move(result)).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

std::atomic_ref<Callee*> callee_in(PyObject* self) {
  return std::atomic_ref(reinterpret_cast<Caller*>(self)->callee);
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<Caller*>(self)->call = &call;
  return self;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete callee_in(self).exchange(nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

Callee& callee_of(py::handle self) {
  Callee* const callee = callee_in(self.ptr()).load(std::memory_order_acquire);
  if (callee == nullptr)
    throw py::type_error(
        "This sr.StaticModule was not initialised: its __init__ was not called. (A session is made by "
        "module.session().)");
  callee->engine->after_fork(sr::detail::forks_so_far());
  return *callee;
}

void set_callee(py::handle self, std::unique_ptr<Callee> callee) {
  Callee* none = nullptr;
  if (!callee_in(self.ptr()).compare_exchange_strong(none, callee.get(), std::memory_order_acq_rel))
    throw ArgumentError("This " + std::string(py::str(py::type::handle_of(self).attr("__qualname__"))) +
                        " was initialised before.");
  static_cast<void>(callee.release());
}

std::vector<at::Tensor> buffers_of(const Callee& callee, PyObject* out) {
  std::vector<at::Tensor> buffers;
  add_buffers(out, callee.signature->is_nested(), buffers);
  return buffers;
}

void call_into(const Callee& callee, const std::vector<c10::IValue>& args, PyObject* out) {
  const std::vector<at::Tensor> buffers = buffers_of(callee, out);
  without_gil([&] {
    if (callee.carried() == nullptr) return callee.engine->run_into(callee.state(), args, buffers);
    const auto run = [&](std::vector<c10::IValue> all) {
      return callee.engine->call(nullptr, std::move(all), nullptr, /*holds_state=*/false);
    };
    const auto copy = [&](const c10::IValue& result) { sr::detail::copy_all_results(result, buffers); };
    callee.carried()->call(*callee.state(), args, /*holds_state=*/false, run, copy);
  });
}

c10::IValue call_model(const Engine& engine, SessionState* state, const sr::detail::CarriedState* carried,
                       std::vector<c10::IValue> args, const CallOptions* options, bool holds_state) {
  if (carried == nullptr) return engine.call(state, std::move(args), options, holds_state);
  return carried->call(*state, std::move(args), holds_state, [&](std::vector<c10::IValue> all) {
    return engine.call(nullptr, std::move(all), options, /*holds_state=*/false);
  });
}

py::object make_caller_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Caller, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  // For help(): of a slot alone, Python says nothing.
  static PyMethodDef methods[] = {
      {"__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&PyVectorcall_Call)),
       METH_VARARGS | METH_KEYWORDS | METH_COEXIST,
       "__call__($self, /, *args, out=None, **kwargs)\n--\n\n"
       "Calls the model with arguments bound as Python binds them; inspect.signature(module) has their "
       "names.\n\n"
       "Returns what the model returns, as torch tensors, numbers and containers. `out=` takes a tensor or "
       "writable\n"
       "array of the result's dtype and shape, or a list, tuple or dictionary of them, writes into it and "
       "returns it.\n"
       "Raises ArgumentError for arguments that do not fit, BusyError if no runtime comes free in time, and "
       "what\n"
       "operators raise."},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(&make)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  static PyType_Spec spec{"sr._C.Caller", static_cast<int>(sizeof(Caller)), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(type);
}

}  // namespace sr::python
