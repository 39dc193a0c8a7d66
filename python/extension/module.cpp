// The Python module sr._C; sr/_C.pyi describes its contents.
#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/version.h>

#include <sr/base/processors.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/memory/planners.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "../../src/tool/drawing/report_page.hpp"
#include "async_calls.hpp"
#include "batcher.hpp"
#include "bound.hpp"
#include "caller.hpp"
#include "errors.hpp"
#include "exported.hpp"
#include "individual_metrics.hpp"
#include "options.hpp"
#include "quantize.hpp"
#include "reports.hpp"
#include "running.hpp"
#include "session.hpp"
#include "values.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

void initialise(py::handle self, std::shared_ptr<Prepared> prepared, std::shared_ptr<CallSpec> spec,
                const std::string& planner, std::size_t max_runtimes, std::optional<double> timeout,
                int intra_op_threads) {
  const RuntimePoolOptions options{
      .max_runtimes = max_runtimes, .timeout = waiting_time(timeout), .intra_op_threads = intra_op_threads};
  set_callee(self, std::make_unique<Callee>(std::move(prepared), std::move(spec), planner, options));
}

// Preparing takes milliseconds to seconds; other Python threads run meanwhile.
template <class Source>
void define_preparation(py::module_& module, const char* name,
                        std::shared_ptr<Prepared> (*prepare)(Source, const StaticModuleOptions&)) {
  module.def(
      name,
      [prepare](Source source, const StaticModuleOptions& options) {
        return without_gil([&] { return prepare(source, options); });
      },
      py::arg("source"), py::arg("options"));
}

std::shared_ptr<Prepared> prepare_script_function(const torch::jit::StrongFunctionPtr& source,
                                                  const StaticModuleOptions& options) {
  return prepare_function(*source.function_, options);
}

void reserve(py::handle self, const py::tuple& args, const py::dict& kwargs, std::size_t runtimes) {
  const Callee& callee = callee_of(self);
  const auto values = callee.signature->bind(args, kwargs);
  without_gil([&] { callee.engine->reserve(values, runtimes); });
}

py::object run_into(py::handle self, py::object outputs, const py::args& args, const py::kwargs& kwargs) {
  const Callee& callee = callee_of(self);
  call_into(callee, callee.signature->bind(args, kwargs), outputs.ptr());
  return outputs;
}

void trim(py::handle self) {
  const Callee& callee = callee_of(self);
  without_gil([&] { callee.engine->trim(); });
}

// The report of the runtime used last, and a page about it.
py::tuple report(py::handle self, const std::string& title) {
  const Callee& callee = callee_of(self);
  const auto [made, page] = without_gil([&] {
    PoolReport report = callee.engine->report();
    std::string text = tool::report_fragment(title, report.runtime, callee.engine->metrics());
    return std::pair(std::move(report), std::move(text));
  });
  return py::make_tuple(described(made), page);
}

py::dict metrics(py::handle self) {
  const Callee& callee = callee_of(self);
  return described(callee.engine->metrics(), callee.engine->pool_metrics());
}

// The steps of the plans, and a page about them.
py::tuple profile(py::handle self, const py::tuple& args, const py::dict& kwargs, double seconds) {
  const Callee& callee = callee_of(self);
  const auto values = callee.signature->bind(args, kwargs);
  const auto [programs, report] = without_gil([&] { return callee.engine->profile(values, seconds); });
  return py::make_tuple(described(programs), tool::report_fragment("Profile", report, {}));
}

void time_steps(py::handle self, bool on) {
  const Callee& callee = callee_of(self);
  without_gil([&] { callee.engine->time_steps(on); });
}

IndividualMetrics benchmark_individual_ops(py::handle self, const py::tuple& args, const py::dict& kwargs,
                                           int warmup, int timed) {
  const Callee& callee = callee_of(self);
  const auto values = callee.signature->bind(args, kwargs);
  return without_gil([&] { return callee.engine->benchmark_individual_ops(values, {warmup, timed}); });
}

void copy_constants(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value)) {
      if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t)
        node->t_(c10::attr::value, node->t(c10::attr::value).clone());
      if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::ival)
        node->ival_(c10::attr::value, node->ival(c10::attr::value).deepcopy());
    }
    for (torch::jit::Block* inner : node->blocks()) copy_constants(inner);
    if (node->hasAttribute(c10::attr::Subgraph)) copy_constants(node->g(c10::attr::Subgraph)->block());
  }
}

// A copy. Weights without other holders are folded, so they must not be handed out: a write would not be
// seen.
std::shared_ptr<torch::jit::Graph> graph_of(const Prepared& self) {
  const PreparedModule& content = *self.module.content();
  std::shared_ptr<torch::jit::Graph> graph = content.graph->copy();
  if (!content.weights->is_shared()) copy_constants(graph->block());
  return graph;
}

StateDict state_of(const py::dict& given) {
  StateDict state;
  for (const auto& [name, value] : snapshot(given)) {
    if (!py::isinstance<py::str>(name)) {
      throw ArgumentError("update() was given a state_dict with a name of the type " +
                          std::string(py::str(py::type::of(name).attr("__name__"))) + "; expected str.");
    }
    const auto text = py::cast<std::string>(name);
    if (!THPVariable_Check(value.ptr())) {
      throw ArgumentError("update() was given a value of the type " +
                          std::string(py::str(py::type::of(value).attr("__name__"))) + " for the weight '" +
                          text + "'; expected a torch.Tensor.");
    }
    state.emplace(text, THPVariable_Unpack(value.ptr()));
  }
  return state;
}

py::dict replaced_weights(const Prepared& self) {
  py::dict replaced;
  for (const auto& [name, tensor] : self.module.content()->weights->replaced())
    replaced[py::str(name)] = py::cast(tensor);
  return replaced;
}

std::shared_ptr<Prepared> method_of(const Prepared& self, const std::string& name) {
  const auto refuse = []() -> std::string {
    throw ArgumentError("A method of a module cannot be pickled. Pickle the module.");
  };
  return without_gil([&] {
    return std::make_shared<Prepared>(Prepared{self.module.method(name), self.source, refuse, self.format});
  });
}

void define_prepared(py::module_& module) {
  py::class_<StaticModuleOptions>(module, "Options").def(py::init(&make_options));
  module.def("option_defaults", &option_defaults);
  module.def("planner_names", [] {
    py::tuple names(memory::planner_names().size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = memory::planner_names()[i];
    return names;
  });
  py::class_<Prepared, std::shared_ptr<Prepared>>(module, "Prepared")
      .def_readonly("format", &Prepared::format)
      .def("archive", [](const Prepared& self) { return py::bytes(self.archive()); })
      .def("graph", &graph_of)
      .def("clone",
           [](const std::shared_ptr<Prepared>& self) {
             if (self->module.content()->state == nullptr) return self;
             return without_gil([&] {
               return std::make_shared<Prepared>(
                   Prepared{self->module.clone(), self->source, self->archive, self->format});
             });
           })
      .def("methods", [](const Prepared& self) { return self.module.methods(); })
      .def("method", &method_of, py::arg("name"))
      .def("torchscript",
           [](const Prepared& self) { return py::bytes(without_gil([&] { return saved(self.source()); })); })
      .def("refresh_weights",
           [](const Prepared& self) { without_gil([&] { self.module.refresh_weights(); }); })
      .def(
          "update",
          [](const Prepared& self, const py::dict& given, bool strict) {
            const StateDict state = state_of(given);
            without_gil([&] { self.module.update(state, strict); });
          },
          py::arg("state"), py::arg("strict"))
      .def("replaced_weights", &replaced_weights)
      .def("inputs", [](const Prepared& self) { return described(self.module.inputs()); })
      .def("outputs", [](const Prepared& self) { return described(self.module.outputs()); });
  define_preparation(module, "prepare_module", &prepare_module);
  define_preparation(module, "prepare_graph", &prepare_graph);
  define_preparation(module, "prepare_function", &prepare_script_function);
  module.def(
      "prepare_file",
      [](const std::string& path, const StaticModuleOptions& options, bool map_weights) {
        return without_gil([&] { return prepare_file(path, options, map_weights); });
      },
      py::arg("path"), py::arg("options"), py::kw_only(), py::arg("map_weights"));
  define_preparation(module, "prepare_bytes", &prepare_bytes);
}

void define_call_spec(py::module_& module) {
  py::class_<CallSpec, std::shared_ptr<CallSpec>>(module, "CallSpec")
      .def(py::init<const py::object&, const py::object&, const py::list&, const py::list&>(),
           py::arg("in_spec"), py::arg("out_spec"), py::arg("constants"), py::arg("twins"))
      .def("nested", py::overload_cast<const py::object&>(&CallSpec::nested, py::const_), py::arg("result"));
}

// Methods of a type that pybind11 did not make.
class Methods {
 public:
  explicit Methods(py::object type) : type_(std::move(type)) {}

  template <class Function, class... Extra>
  Methods& def(const char* name, Function function, const Extra&... extra) {
    type_.attr(name) = py::cpp_function(function, py::name(name), py::is_method(type_), extra...);
    return *this;
  }

 private:
  py::object type_;
};

void define_caller(py::module_& module) {
  const py::object type = make_caller_type();
  module.attr("Caller") = type;
  const auto args = py::arg("args"), kwargs = py::arg("kwargs");
  const auto warmup = py::arg("warmup_runs"), timed = py::arg("main_runs");
  Methods(type)
      .def("_begin", &initialise, py::arg("prepared"), py::arg("call_spec").none(true), py::kw_only(),
           py::arg("planner"), py::arg("max_runtimes"), py::arg("timeout").none(true),
           py::arg("intra_op_threads"))
      .def("_bind", &bind, args, kwargs, py::arg("out"))
      .def("_start", &start, args, kwargs, py::arg("done"))
      .def("_reserve", &reserve, args, kwargs, py::arg("runtimes"))
      .def("_metrics", &metrics)
      .def("_profile", &profile, args, kwargs, py::arg("seconds"))
      .def("_time_steps", &time_steps, py::arg("on"))
      .def("_begin_session", &begin_session, py::arg("other"), py::arg("carried").none(true),
           py::arg("call_spec").none(true))
      .def("_begin_method", &begin_method, py::arg("session"), py::arg("module"), py::arg("name"))
      .def("_reset", &reset_session)
      .def("_state", &state_of_session)
      .def("_load", &load_session, py::arg("state"), py::arg("strict"))
      .def("_report", &report, py::arg("title"))
      .def("run_into", &run_into, py::arg("outputs"),
           "Calls with the arguments behind `outputs`, as `out=outputs` does, which is returned. Raises the "
           "same.")
      .def("trim", &trim, "Destroys the runtimes that are not in use, with their memory and plans.")
      .def("_run_async", &run_async, args, kwargs)
      .def("_benchmark_individual_ops", &benchmark_individual_ops, args, kwargs, warmup, timed);
  module.def("run_sessions", &run_sessions, py::arg("sessions"), py::arg("inputs"), py::kw_only(),
             py::arg("dim"), py::arg("shared"), py::arg("state_dims"), py::arg("max_rows"),
             py::arg("equal_rows"));
  // Before Python 3.12, a subclass made by a class statement does not inherit it.
  module.def("share_vectorcall", [](py::handle subclass) {
    auto* const inheriting = reinterpret_cast<PyTypeObject*>(subclass.ptr());
    inheriting->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(inheriting);
  });
}

}  // namespace

}  // namespace sr::python

// Without the GIL, too: what threads share is constant, atomic or behind a mutex, and what Python code may
// change during a call is copied or held by a reference.
PYBIND11_MODULE(_C, module, py::mod_gil_not_used()) {
  using namespace sr::python;
  py::options options;
  options.disable_function_signatures();  // the stubs contain them, with types
  register_errors();
  define_async_calls(module);
  define_prepared(module);
  define_call_spec(module);
  define_exported(module);
  define_bound_call(module);
  define_batcher(module);
  define_caller(module);
  define_metrics(module);
  define_quantize(module);
  module.attr("torch_version") = TORCH_VERSION;
  module.def("instruction_set", [] { return sr::kernels::kernels().table.name; });
  module.def(
      "processors", &sr::processors_allowed, py::arg("refresh") = false,
      "The number of processors that this process may use: the least of what the quota of its container\n"
      "(cgroups, rounded down), their cpusets and the affinity mask of this thread allow. Control groups "
      "are\n"
      "read once, and again if `refresh` is true.");
}
