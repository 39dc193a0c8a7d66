// sr's reports as Python dictionaries.
#pragma once

#include <pybind11/pybind11.h>

#include <sr/batcher.hpp>
#include <sr/profile.hpp>
#include <sr/quantize.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/value_spec.hpp>

namespace sr::python {

// The printed form is under "text", except for a batcher.
pybind11::dict described(const PoolReport& report);
pybind11::dict described(const BatcherReport& report);
pybind11::dict described(const QuantizationReport& report);
pybind11::dict described(const CallMetrics& calls, const pool::PoolMetrics& pool);
pybind11::list described(const std::vector<ProgramTimes>& programs);

// For each argument or result of the schema: (name, type, dtype, shape, default), None where unknown.
pybind11::list described(const std::vector<ValueSpec>& values);

}  // namespace sr::python
