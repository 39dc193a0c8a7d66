#include "quantize.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/error.hpp>
#include <sr/quantize.hpp>

#include "caller.hpp"
#include "prepared.hpp"
#include "reports.hpp"
#include "running.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

// The quantized module, or None and the message of the error that refuses it; then the report.
using Outcome = std::tuple<std::shared_ptr<Prepared>, std::optional<std::string>, py::dict>;

Outcome quantized(const py::handle& caller, const std::vector<std::pair<py::tuple, py::dict>>& calls,
                  const StaticModuleOptions& module_options, int bits, std::int64_t group,
                  std::optional<double> max_layer_error, double max_time_ratio, bool tables, bool recurrent,
                  double min_cosine, double max_difference, const py::object& loss, double max_loss) {
  const Callee& callee = callee_of(caller);
  std::vector<std::vector<c10::IValue>> inputs;
  inputs.reserve(calls.size());
  for (const auto& [args, kwargs] : calls) inputs.push_back(callee.signature->bind(args, kwargs));
  QuantizeOptions options;
  options.bits = bits;
  options.group = group;
  options.max_layer_error = max_layer_error;
  options.max_time_ratio = max_time_ratio;
  options.tables = tables;
  options.recurrent = recurrent;
  options.min_cosine = min_cosine;
  options.max_difference = max_difference;
  options.max_loss = max_loss;
  if (!loss.is_none()) {
    options.loss = [&loss, &callee](const c10::IValue& expected, const c10::IValue& result) {
      const py::gil_scoped_acquire gil;
      return py::cast<double>(
          py::float_(loss(callee.signature->result(expected), callee.signature->result(result))));
    };
  }
  QuantizationReport report;
  std::shared_ptr<Prepared> prepared;
  std::optional<std::string> refusal;
  without_gil([&] {
    try {
      prepared = prepare_owned(quantize(callee.prepared->source(), inputs, options, &report), module_options);
    } catch (const QuantizationError& error) {
      refusal = error.what();
    }
  });
  return {std::move(prepared), std::move(refusal), described(report)};
}

}  // namespace

void define_quantize(py::module_& module) {
  module.def("quantize", &quantized, py::arg("caller"), py::arg("calls"), py::arg("options"), py::kw_only(),
             py::arg("bits"), py::arg("group"), py::arg("max_layer_error"), py::arg("max_time_ratio"),
             py::arg("tables"), py::arg("recurrent"), py::arg("min_cosine"), py::arg("max_difference"),
             py::arg("loss"), py::arg("max_loss"));
}

}  // namespace sr::python
