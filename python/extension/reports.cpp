#include "reports.hpp"

#include <chrono>
#include <concepts>
#include <optional>
#include <pybind11/stl.h>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include "../../src/values/report_fields.hpp"

namespace py = pybind11;
using py::literals::operator""_a;  // NOLINT(misc-unused-using-decls): clang-tidy 14 sees no use of literals

namespace sr::python {

namespace {

template <class Items, class Describe>
py::list list_of(const Items& items, Describe describe) {
  py::list all;
  for (const auto& item : items) all.append(describe(item));
  return all;
}

py::dict misses_of(const values::Counts& all) {
  py::dict misses;
  for (const auto& [why, calls] : all) misses[py::str(why)] = calls;
  return misses;
}

template <class T>
py::object object_from(const T& value) {
  if constexpr (values::HasFields<T>) {
    py::dict made;
    values::visit_fields(value,
                         [&](const char* name, const auto& field) { made[name] = object_from(field); });
    return made;
  } else if constexpr (values::IsListOfReports<T>) {
    return list_of(value, [](const auto& each) { return object_from(each); });
  } else if constexpr (std::same_as<T, values::Counts>) {
    return misses_of(value);
  } else {
    return py::cast(value);
  }
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// The buckets that hold calls, by the seconds below which they lie.
py::dict buckets_of(const Latencies& latencies) {
  py::dict buckets;
  for (std::size_t i = 0; i < Latencies::kBuckets; ++i) {
    if (latencies.counts[i] != 0) buckets[py::float_(Latencies::end_of(i))] = latencies.counts[i];
  }
  return buckets;
}

std::string text_of(const PoolReport& report) {
  std::ostringstream text;
  text << report.runtime << "pool: " << report.pool.made << " of at most " << report.pool.most
       << " runtimes made, " << report.intra_op_threads << " intra-op threads a call, " << report.cores
       << " cores";
  if (!report.warning.empty()) text << '\n' << report.warning;
  return text.str();
}

py::dict of_layer(const QuantizedLayer& layer) {
  return py::dict("name"_a = layer.name, "inputs"_a = layer.inputs, "outputs"_a = layer.outputs,
                  "rows"_a = layer.rows, "error"_a = layer.error, "float_us"_a = layer.float_us,
                  "int8_us"_a = layer.int8_us, "is_quantized"_a = layer.is_quantized,
                  "reason"_a = layer.reason);
}

}  // namespace

py::dict described(const PoolReport& report) {
  py::dict described = object_from(report);
  described["text"] = text_of(report);
  return described;
}

py::dict described(const BatcherReport& report) {
  py::dict described = object_from(report);
  py::dict by_rows;
  for (std::size_t i = 0; i < report.batches_by_rows.size(); ++i) {
    if (report.batches_by_rows[i] != 0) by_rows[py::int_(std::size_t{1} << i)] = report.batches_by_rows[i];
  }
  described["batches_by_rows"] = by_rows;
  return described;
}

py::dict described(const QuantizationReport& report) {
  std::ostringstream text;
  text << report;
  return py::dict("layers"_a = list_of(report.layers, of_layer), "float_bytes"_a = report.float_bytes,
                  "int8_bytes"_a = report.int8_bytes, "largest_difference"_a = report.largest,
                  "mean_difference"_a = report.mean, "smallest_cosine"_a = report.cosine,
                  "unequal"_a = report.unequal, "loss"_a = report.loss, "text"_a = text.str());
}

py::dict described(const CallMetrics& calls, const pool::PoolMetrics& pool) {
  const Latencies& latencies = calls.latencies;
  py::dict latency("count"_a = latencies.count(), "seconds"_a = latencies.seconds,
                   "p50"_a = latencies.quantile(0.5), "p90"_a = latencies.quantile(0.9),
                   "p99"_a = latencies.quantile(0.99), "p999"_a = latencies.quantile(0.999),
                   "buckets"_a = buckets_of(latencies));
  return py::dict("calls"_a = calls.calls, "replayed"_a = calls.replayed, "failed"_a = calls.failed,
                  "cancelled"_a = calls.cancelled, "latency"_a = latency,
                  "misses"_a = misses_of(calls.misses), "runtimes"_a = pool.made,
                  "runtimes_in_use"_a = pool.leased, "waits"_a = pool.waiting.waits,
                  "busy"_a = pool.waiting.timeouts, "longest_wait"_a = seconds_of(pool.waiting.longest));
}

py::list described(const std::vector<ProgramTimes>& programs) {
  return list_of(programs, [](const ProgramTimes& program) {
    return py::dict(
        "arguments"_a = program.arguments, "block"_a = program.block, "seconds"_a = program.total(),
        "steps"_a = list_of(program.steps, [](const StepTime& step) {
          return py::dict("kind"_a = step.report.kind, "ops"_a = step.report.ops, "seconds"_a = step.seconds);
        }));
  });
}

py::list described(const std::vector<ValueSpec>& values) {
  return list_of(values, [](const ValueSpec& value) {
    py::object shape = py::none();
    if (value.sizes) {
      shape = py::tuple(list_of(*value.sizes, [](const SizeSpec& size) {
        return std::visit([](const auto& known) -> py::object { return py::cast(known); }, size);
      }));
    }
    return py::make_tuple(value.name, value.type, value.dtype ? py::cast(*value.dtype) : py::none(), shape,
                          value.default_value.has_value(),
                          value.default_value ? torch::jit::toPyObject(*value.default_value) : py::none());
  });
}

}  // namespace sr::python
