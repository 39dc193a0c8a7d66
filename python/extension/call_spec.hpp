// Describes how torch.utils._pytree nests the arguments and the result of an exported program. It is compiled
// once, so that a call flattens its arguments and nests its result without Python code of pytree.
#pragma once

#include <Python.h>
#include <cstddef>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include "call_tree.hpp"
#include "given.hpp"

namespace sr::python {

class CallSpec {
 public:
  // `constants` has an entry for each leaf of a call: None for an argument of the graph, or a tuple with the
  // value that the export took for the leaf. `twins` has a tuple for each two leaves that must be the same
  // tensor: their indices and their names.
  CallSpec(const pybind11::object& in_spec, const pybind11::object& out_spec, const pybind11::list& constants,
           const pybind11::list& twins);

  // True if the arguments of the call need no flattening: they are the arguments of the graph.
  bool is_flat(const Given& given, std::size_t without) const {
    return takes_leaves_ && given.count == in_.leaf_count() && given.named() == (without == kNone ? 0 : 1);
  }
  // The leaves that are arguments of the graph. Omits the keyword number `without`. Throws ArgumentError.
  std::vector<pybind11::object> flat(const Given& given, std::size_t without) const;
  // True if the program was exported with a keyword argument of this name.
  bool has_keyword(PyObject* name) const;
  // The result of the graph, nested as the exported program returns it.
  pybind11::object nested(const c10::IValue& result) const;
  // Nests a result whose tensors and numbers are Python objects already.
  pybind11::object nested(const pybind11::object& result) const;

 private:
  pybind11::object nested(std::vector<pybind11::object> leaves) const;
  void flatten_keywords(const Given& given, std::size_t without, std::vector<pybind11::object>& leaves) const;
  std::vector<pybind11::object> without_constants(std::vector<pybind11::object> leaves) const;

  struct Twins {
    std::size_t first = 0, second = 0;
    std::string name, other_name;
  };
  TreeNode in_, out_;
  std::vector<std::optional<pybind11::object>> constants_;
  bool has_constants_ = false;
  bool takes_leaves_ = false;  // by position, without constants and twins
  std::vector<Twins> twins_;
};

}  // namespace sr::python
