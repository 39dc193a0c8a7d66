// The Python module sr_bridge: a runtime of sr over a graph that Python scripted or traced.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/script.h>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/guard_pages.hpp"

namespace py = pybind11;

namespace {

// Calls and reports of a StaticRuntime with any planner.
struct Runtime {
  std::function<c10::IValue(std::vector<c10::IValue>)> call;
  std::function<sr::Report()> report;
};

template <class Planner>
Runtime make_runtime(const sr::StaticModule& module) {
  auto runtime = std::make_shared<sr::StaticRuntime<Planner>>(module);
  return {[runtime](std::vector<c10::IValue> args) { return (*runtime)(std::move(args)); },
          [runtime] { return runtime->report(); }};
}

Runtime runtime_of(const sr::StaticModule& module, const std::string& planner) {
  if (planner == sr::test::Poison::name) return make_runtime<sr::test::Poison>(module);
  return sr::memory::with_planner(
      planner, [&]<class Planner>(std::type_identity<Planner>) { return make_runtime<Planner>(module); });
}

sr::StaticModule module_of(const std::shared_ptr<torch::jit::Graph>& graph, bool fast, bool replay,
                           bool managed_outputs, std::size_t max_plan_bytes) {
  sr::StaticModuleOptions options;
  options.numerics = fast ? sr::Numerics::fast : sr::Numerics::exact;
  options.debug.enable_replay = replay;
  options.memory.manage_outputs = managed_outputs;
  options.memory.max_plan_bytes = max_plan_bytes;
  const py::gil_scoped_release running;
  return sr::StaticModule(graph, options);
}

// Drops warnings of operators; the interpreter gives the same ones.
class Unheard : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

py::object call(const Runtime& runtime, const py::args& args) {
  std::vector<c10::IValue> values;
  for (const py::handle& arg : args) values.emplace_back(py::cast<at::Tensor>(arg));
  c10::IValue result;
  {
    const py::gil_scoped_release running;
    Unheard unheard;
    const c10::WarningUtils::WarningHandlerGuard quiet(&unheard);
    result = runtime.call(std::move(values));
  }
  return torch::jit::toPyObject(std::move(result));
}

// Removes the C++ stack from a message, because it differs from run to run.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const c10::Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
  }
}

py::list registered() {
  py::list all;
  for (const sr::OperatorEntry& entry : sr::registry().entries()) {
    all.append(py::make_tuple(entry.key, sr::name_of(entry.kind), sr::functor_name(entry)));
  }
  return all;
}

py::dict described(const Runtime& runtime) {
  const sr::Report report = runtime.report();
  py::set paths;
  for (const sr::NodeReport& node : report.nodes) {
    paths.add(py::make_tuple(node.key, sr::name_of(node.path), node.functor));
  }
  py::dict all;
  all["paths"] = paths;
  all["plans"] = report.plans.size();
  all["bailouts"] = report.bailouts;
  return all;
}

}  // namespace

PYBIND11_MODULE(sr_bridge, module) {
  py::register_local_exception_translator(&translate);
  py::class_<sr::StaticModule>(module, "Module")
      .def(py::init(&module_of), py::arg("graph"), py::kw_only(), py::arg("fast") = false,
           py::arg("replay") = true, py::arg("managed_outputs") = false,
           py::arg("max_plan_bytes") = sr::StaticModuleOptions().memory.max_plan_bytes);
  py::class_<Runtime>(module, "Runtime")
      .def(py::init(&runtime_of), py::arg("module"), py::arg("planner"))
      .def("__call__", &call)
      .def("describe", &described);
  module.def("registered", &registered);
}
