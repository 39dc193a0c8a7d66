#include "bound.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <sr/base/intra_op_width.hpp>
#include <sr/bound_call.hpp>

#include "caller.hpp"
#include "running.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

struct Bound {
  BoundCall call;
  int intra_op_threads;
  py::object returned;  // what calls return

  py::object run() {
    without_gil([&] {
      const IntraOpWidth width(intra_op_threads);
      call();
    });
    return returned;
  }
};

py::tuple tensors_of(const BoundCall& call) {
  const std::vector<at::Tensor>& outputs = call.outputs();
  py::tuple tensors(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) tensors[i] = py::cast(outputs[i]);
  return tensors;
}

}  // namespace

void define_bound_call(py::module_& module) {
  py::class_<Bound>(
      module, "BoundCall",
      "A call whose arguments and results are tensors that stay; bind() of a module or session makes it.\n\n"
      "Called without arguments. Raises BusyError if another thread is in a call, ArgumentError if "
      "the results do not fit into the buffers any more, and what operators raise.")
      .def("__call__", &Bound::run,
           "Runs the model on what its arguments hold now. Returns the buffers, which the next call writes "
           "again.")
      .def_property_readonly(
          "outputs", [](const Bound& self) { return tensors_of(self.call); },
          "The tensors that calls write into, one for each tensor of the result in depth-first order.")
      .def_property_readonly(
          "is_replayed", [](const Bound& self) { return self.call.is_replayed(); },
          "Whether the next call replays a plan, if nothing changes before.");
}

py::object bind(py::handle self, const py::tuple& args, const py::dict& kwargs, const py::object& out) {
  const Callee& callee = callee_of(self);
  std::vector<c10::IValue> values = callee.signature->bind(args, kwargs);
  std::vector<at::Tensor> buffers = out.is_none() ? std::vector<at::Tensor>{} : buffers_of(callee, out.ptr());
  const int threads = callee.engine->intra_op_threads();
  if (callee.session != nullptr) sr::detail::require_bindable(*callee.session);
  const std::shared_ptr<SessionState>& state =
      callee.session != nullptr ? callee.session->session_state() : callee.prepared->module.session_state();
  auto bound = std::make_unique<Bound>(
      Bound{without_gil([&] { return callee.engine->bind(state, std::move(values), std::move(buffers)); }),
            threads, out});
  if (out.is_none()) {
    const py::tuple tensors = tensors_of(bound->call);
    bound->returned = tensors.size() == 1 ? py::object(tensors[0]) : py::object(tensors);
  }
  return py::cast(std::move(bound));
}

}  // namespace sr::python
