// How torch.utils._pytree nests the arguments and the result of an exported program, compiled once so that a
// call flattens and nests without Python code of pytree.
#pragma once

#include <Python.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include "given.hpp"

namespace sr::python {

// The place of a value in a call, for messages: "argument 0['mask']". Its text is only made for an error.
struct TreePath {
  const TreePath* outer = nullptr;  // null: an argument of the call
  std::size_t position = 0;
  pybind11::handle key = {};  // of a dictionary or keyword argument; null if the position says it

  std::string text(bool begins_sentence = false) const;
};

// A node of a torch.utils._pytree.TreeSpec.
class TreeNode {
 public:
  // Needs the GIL, as all members do. Throws Python's exceptions if the spec is of an unknown form.
  explicit TreeNode(const pybind11::object& spec);

  std::size_t leaf_count() const { return leaf_count_; }
  const std::vector<TreeNode>& children() const { return children_; }
  const std::vector<pybind11::object>& keys() const { return keys_; }

  // Appends the leaves of `value`. Throws ArgumentError if the value is nested otherwise.
  void flatten(pybind11::handle value, const TreePath& path, std::vector<pybind11::object>& leaves) const;
  // Builds the value of the leaves from `next` on, and advances `next` behind them.
  pybind11::object unflatten(std::vector<pybind11::object>& leaves, std::size_t& next) const;

 private:
  enum class Kind : std::uint8_t { leaf, tuple, list, dict, named_tuple, dataclass, other };

  void read_dataclass();
  void flatten_dict(pybind11::handle value, const TreePath& path,
                    std::vector<pybind11::object>& leaves) const;
  void flatten_other(pybind11::handle value, const TreePath& path,
                     std::vector<pybind11::object>& leaves) const;
  [[noreturn]] void refuse(pybind11::handle value, const TreePath& path) const;
  std::string described() const;

  Kind kind_ = Kind::leaf;
  bool is_plain_ = false;  // named_tuple: no class of the user's says how objects are made
  std::size_t leaf_count_ = 1;
  pybind11::object type_, context_;
  std::vector<TreeNode> children_;
  std::vector<pybind11::object> keys_;    // dict: of the children, in the order of the export
  pybind11::object flatten_, unflatten_;  // other: pytree's functions for the type
  pybind11::object names_;                // dataclass: of the children, then of fields that are None
};

class CallSpec {
 public:
  // `constants` has an entry for each leaf of a call: None for an argument of the graph, or a tuple with the
  // value that the export took for the leaf.
  CallSpec(const pybind11::object& in_spec, const pybind11::object& out_spec,
           const pybind11::list& constants);

  // The leaves that are arguments of the graph. Omits the keyword number `without`. Throws ArgumentError.
  std::vector<pybind11::object> flat(const Given& given, std::size_t without) const;
  // True if the program was exported with a keyword argument of this name.
  bool has_keyword(PyObject* name) const;
  // The result of the graph, nested as the exported program returns it.
  pybind11::object nested(const c10::IValue& result) const;
  // Nests a result whose tensors and numbers are Python objects already.
  pybind11::object nested(const pybind11::object& result) const;

 private:
  void flatten_keywords(const Given& given, std::size_t without, std::vector<pybind11::object>& leaves) const;
  std::vector<pybind11::object> without_constants(std::vector<pybind11::object> leaves) const;

  TreeNode in_, out_;
  std::vector<std::optional<pybind11::object>> constants_;
  bool has_constants_ = false;
};

}  // namespace sr::python
