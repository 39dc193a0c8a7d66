// The nodes of a torch.utils._pytree.TreeSpec: flattens values into leaves, and nests leaves in values.
#pragma once

#include <Python.h>
#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

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

  bool is_leaf() const { return kind_ == Kind::leaf; }
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
  pybind11::object assigned(std::vector<pybind11::object>& leaves, std::size_t& next) const;

  Kind kind_ = Kind::leaf;
  bool is_plain_ = false;  // named_tuple, dataclass: no code of the user's says how objects are made
  std::size_t leaf_count_ = 1;
  pybind11::object type_, context_;
  std::vector<TreeNode> children_;
  std::vector<pybind11::object> keys_;    // dict: of the children, in the order of the export
  pybind11::object flatten_, unflatten_;  // other: pytree's functions for the type
  pybind11::object names_;                // dataclass: of the children, then of fields that are None
};

// Texts of messages: "2 elements"; the value in one line; keys with commas between them.
std::string counted(std::size_t count, const std::string& what);
std::string brief(pybind11::handle value);
std::string listed(const std::vector<pybind11::object>& keys);
// Says which keys of a dictionary, or of keyword arguments, are missing and which are unexpected.
std::string difference(const std::vector<pybind11::object>& wanted,
                       const std::vector<pybind11::object>& given);

// True if the value is an object of exactly this type.
bool has_type(pybind11::handle value, pybind11::handle type);

}  // namespace sr::python
