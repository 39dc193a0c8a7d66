#include "batcher.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/error.hpp>

#include "async_calls.hpp"
#include "caller.hpp"
#include "reports.hpp"
#include "running.hpp"
#include "session.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

using PaddingOfArgument = std::tuple<std::size_t, std::int64_t, double>;

CallOptions options_until(std::optional<double> timeout, CallTrace* trace) {
  CallOptions options;
  options.trace = trace;
  if (timeout) {
    const std::chrono::duration<double> time(*timeout);
    options.deadline = CallOptions::Clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  }
  return options;
}

// Requests run on the runtimes of the module, with its planner and intra-op threads.
struct PythonBatcher {
  std::shared_ptr<Prepared> prepared;
  std::shared_ptr<const Signature> signature;
  std::unique_ptr<Batcher> batcher;

  PythonBatcher(Callee& callee, const BatcherOptions& options)
      : prepared(callee.prepared),
        signature(callee.signature),
        batcher(std::make_unique<Batcher>(prepared->module, batch_model(callee.engine), options,
                                          batch_preparation(callee.engine))) {}
  ~PythonBatcher() {
    const py::gil_scoped_release released;  // for the requests that it waits for
    batcher.reset();
  }

  // `session` is None or an sr.Session.
  py::object call(const py::tuple& args, const py::dict& kwargs, py::handle session,
                  std::optional<double> timeout, const std::shared_ptr<CallTrace>& trace) const {
    std::vector<c10::IValue> values = signature->bind(args, kwargs);
    const Session* const own = session.is_none() ? nullptr : &session_of(session);
    const CallOptions options = options_until(timeout, trace.get());
    return signature->result(without_gil([&] {
      return own == nullptr ? (*batcher)(std::move(values), {}, options)
                            : (*batcher)(*own, std::move(values), {}, options);
    }));
  }

  RunningCall start(const py::tuple& args, const py::dict& kwargs, py::handle session,
                    std::optional<double> timeout, py::function done,
                    const std::shared_ptr<CallTrace>& trace) const {
    std::vector<c10::IValue> values = signature->bind(args, kwargs);
    const Session* const own = session.is_none() ? nullptr : &session_of(session);
    std::stop_source stop;
    CallOptions options = options_until(timeout, trace.get());
    options.stop = stop.get_token();
    const auto future = without_gil([&] {
      return own == nullptr ? batcher->submit(std::move(values), {}, options)
                            : batcher->submit(*own, std::move(values), {}, options);
    });
    const auto told = std::make_shared<Told>(signature, std::move(done));
    // The trace lives until the request is answered.
    future->addCallback([told, trace](c10::ivalue::Future& ended) {
      if (ended.hasError()) {
        told->end({}, ended.exception_ptr(), [] {});
      } else {  // which leaves nothing in the future: it ends after Python knows the result
        told->end(std::move(const_cast<c10::IValue&>(ended.constValue())), nullptr, [] {});
      }
    });
    return {std::move(stop), told};
  }

  py::dict report() const {
    return described(without_gil([&] { return batcher->report(); }));
  }
};

std::int64_t nanoseconds_of(CallTrace::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Times are in nanoseconds of the monotonic clock. They are 0 until the request is answered.
void define_trace(py::module_& module) {
  const auto time = [](CallTrace::Clock::time_point CallTrace::*member) {
    return [member](const CallTrace& trace) { return nanoseconds_of(trace.*member); };
  };
  py::class_<CallTrace, std::shared_ptr<CallTrace>>(module, "CallTrace")
      .def(py::init([](bool with_steps) {
             auto trace = std::make_shared<CallTrace>();
             trace->with_steps = with_steps;
             return trace;
           }),
           py::arg("steps"))
      .def_property_readonly("arrived", time(&CallTrace::arrived))
      .def_property_readonly("began", time(&CallTrace::began))
      .def_property_readonly("ended", time(&CallTrace::ended))
      .def_readonly("requests", &CallTrace::requests)
      .def_readonly("rows", &CallTrace::rows)
      .def_property_readonly("path", [](const CallTrace& trace) { return name_of(trace.path); })
      .def_property_readonly("steps", [](const CallTrace& trace) {
        std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> steps;
        for (const CallTrace::Step& step : trace.steps)
          steps.emplace_back(step.name, nanoseconds_of(step.begin), nanoseconds_of(step.end));
        return steps;
      });
}

std::unique_ptr<PythonBatcher> make_batcher(py::handle caller, std::int64_t dim,
                                            std::vector<std::size_t> shared,
                                            std::map<std::string, std::int64_t> state_dims,
                                            std::int64_t max_rows, double max_wait, std::size_t max_waiting,
                                            std::size_t max_running,
                                            const std::vector<PaddingOfArgument>& padding,
                                            std::int64_t padded_result_dim, bool equal_rows) {
  BatcherOptions options;
  options.dim = dim;
  options.shared = std::move(shared);
  options.state_dims = std::move(state_dims);
  options.max_rows = max_rows;
  options.max_wait = std::chrono::microseconds(static_cast<std::int64_t>(max_wait * 1e6));
  options.max_waiting = max_waiting;
  options.max_running = max_running;
  for (const auto& [argument, of_dim, value] : padding) options.padding.push_back({argument, of_dim, value});
  options.padded_result_dim = padded_result_dim;
  options.equal_rows = equal_rows;
  return std::make_unique<PythonBatcher>(callee_of(caller), options);
}

}  // namespace

void define_batcher(py::module_& module) {
  define_trace(module);
  py::class_<PythonBatcher>(module, "Batcher")
      .def(py::init(&make_batcher), py::arg("caller"), py::kw_only(), py::arg("dim"), py::arg("shared"),
           py::arg("state_dims"), py::arg("max_rows"), py::arg("max_wait"), py::arg("max_waiting"),
           py::arg("max_running"), py::arg("padding"), py::arg("padded_result_dim"), py::arg("equal_rows"))
      .def("call", &PythonBatcher::call, py::arg("args"), py::arg("kwargs"), py::arg("session"),
           py::arg("timeout"), py::arg("trace") = nullptr)
      .def("start", &PythonBatcher::start, py::arg("args"), py::arg("kwargs"), py::arg("session"),
           py::arg("timeout"), py::arg("done"), py::arg("trace") = nullptr)
      .def("report", &PythonBatcher::report);
}

}  // namespace sr::python
