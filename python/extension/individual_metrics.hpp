// The class that `benchmark_individual_ops` returns.
#pragma once

#include <pybind11/stl.h>
#include <sstream>

#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/compat/benchmark.hpp>

namespace sr::python {

namespace py = pybind11;

inline void define_metrics(py::module_& module) {
  py::class_<IndividualMetrics>(
      module, "IndividualMetrics",
      "Milliseconds of one call, averaged over all timed calls: of the phases of a call, of every node "
      "(time_per_node, in the order of the report), of every kind of node, and its percentage of total_time.")
      .def_readonly("setup_time", &IndividualMetrics::setup_time, "Taking the arguments.")
      .def_readonly("memory_alloc_time", &IndividualMetrics::memory_alloc_time,
                    "Planning, where sizes changed.")
      .def_readonly("memory_dealloc_time", &IndividualMetrics::memory_dealloc_time,
                    "Dropping what the run left behind.")
      .def_readonly("output_dealloc_time", &IndividualMetrics::output_dealloc_time,
                    "The caller's drop of the result.")
      .def_readonly("first_iter_time", &IndividualMetrics::first_iter_time,
                    "The very first call, which makes all tensors.")
      .def_readonly("total_time", &IndividualMetrics::total_time, "The sum over the nodes of the top block.")
      .def_readonly("out_nodes_count", &IndividualMetrics::out_nodes_count, "Nodes that run an out variant.")
      .def_readonly("total_nodes_count", &IndividualMetrics::total_nodes_count, "All nodes.")
      .def_readonly("time_per_node", &IndividualMetrics::time_per_node,
                    "Of each node, in the order of the report.")
      .def_readonly("time_per_node_type", &IndividualMetrics::time_per_node_type, "By kind of node.")
      .def_readonly("percent_per_node_type", &IndividualMetrics::percent_per_node_type,
                    "By kind of node, of total_time.")
      .def_readonly("instances_per_node_type", &IndividualMetrics::instances_per_node_type,
                    "Nodes of each kind.")
      .def_readonly("out_nodes", &IndividualMetrics::out_nodes, "Kinds of which a node runs an out variant.")
      .def_readonly("native_nodes", &IndividualMetrics::native_nodes, "Kinds of which a node is native.")
      .def("__repr__", [](const IndividualMetrics& self) {
        std::ostringstream text;
        text << self;
        return text.str();
      });
}

}  // namespace sr::python
