#include "call_spec.hpp"

#include <algorithm>
#include <pybind11/stl.h>
#include <string>
#include <tuple>
#include <utility>

#include <sr/error.hpp>

#include "values.hpp"

namespace py = pybind11;

namespace sr::python {

CallSpec::CallSpec(const py::object& in_spec, const py::object& out_spec, const py::list& constants,
                   const py::list& twins)
    : in_(in_spec), out_(out_spec) {
  for (const py::handle constant : constants) {
    constants_.push_back(constant.is_none() ? std::nullopt
                                            : std::optional(py::object(constant[py::int_(0)])));
    has_constants_ |= constants_.back().has_value();
  }
  for (const py::handle pair : twins) {
    const auto [first, second, name, other_name] =
        pair.cast<std::tuple<std::size_t, std::size_t, std::string, std::string>>();
    twins_.push_back({first, second, name, other_name});
  }
  const std::vector<TreeNode>& positional = in_.children()[0].children();
  takes_leaves_ = std::ranges::all_of(positional, &TreeNode::is_leaf) && in_.children()[1].keys().empty() &&
                  !has_constants_ && twins_.empty();
}

bool CallSpec::has_keyword(PyObject* name) const {
  return std::ranges::any_of(in_.children()[1].keys(),
                             [&](const py::object& key) { return same_name(key.ptr(), name); });
}

std::vector<py::object> CallSpec::flat(const Given& given, std::size_t without) const {
  std::vector<py::object> leaves;
  leaves.reserve(in_.leaf_count());
  const std::vector<TreeNode>& positional = in_.children()[0].children();
  if (given.count != positional.size()) {
    throw ArgumentError("The call has " + counted(given.count, "positional argument") +
                        "; the model was exported with " + std::to_string(positional.size()) + ".");
  }
  for (std::size_t i = 0; i < positional.size(); ++i)
    positional[i].flatten(given.values[i], {nullptr, i}, leaves);
  flatten_keywords(given, without, leaves);
  for (const Twins& twins : twins_) {
    if (leaves[twins.first].is(leaves[twins.second])) continue;
    throw ArgumentError("The call gives two tensors for " + twins.name + " and " + twins.other_name +
                        ". The model was exported with one tensor for both, so that its graph reads only one "
                        "of them. Export it with two tensors.");
  }
  return has_constants_ ? without_constants(std::move(leaves)) : leaves;
}

void CallSpec::flatten_keywords(const Given& given, std::size_t without,
                                std::vector<py::object>& leaves) const {
  const TreeNode& keywords = in_.children()[1];
  const std::size_t named = given.named() - (without == kNone ? 0 : 1);
  bool fits = named == keywords.keys().size();
  for (std::size_t i = 0; fits && i < keywords.keys().size(); ++i) {
    const std::size_t k = given.find(keywords.keys()[i].ptr());
    fits = k != given.named();
    if (fits)
      keywords.children()[i].flatten(given.values[given.count + k], {nullptr, i, keywords.keys()[i]}, leaves);
  }
  if (fits) return;
  std::vector<py::object> names;
  for (std::size_t k = 0; k < given.named(); ++k) {
    if (k != without) names.push_back(py::reinterpret_borrow<py::object>(given.name(k)));
  }
  throw ArgumentError("The call " + difference(keywords.keys(), names) + ". The model was exported with " +
                      (keywords.keys().empty() ? "no keyword arguments."
                                               : "the keyword arguments " + listed(keywords.keys()) + "."));
}

std::vector<py::object> CallSpec::without_constants(std::vector<py::object> leaves) const {
  std::vector<py::object> arguments;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::optional<py::object>& constant = constants_[i];
    if (!constant) {
      arguments.push_back(std::move(leaves[i]));
      continue;
    }
    const bool is_nan = !leaves[i].equal(leaves[i]);
    if (!has_type(leaves[i], py::type::handle_of(*constant)) || (!is_nan && !leaves[i].equal(*constant))) {
      throw ArgumentError("The call gives " + brief(leaves[i]) + " where the model was exported for " +
                          brief(*constant) + ", which is part of its graph.");
    }
  }
  return arguments;
}

py::object CallSpec::nested(const c10::IValue& result) const {
  std::vector<py::object> leaves;
  leaves.reserve(out_.leaf_count());
  if (out_.leaf_count() == 1) {
    leaves.push_back(to_python(result, false));
  } else {
    for (const c10::IValue& leaf : result.toTupleRef().elements()) leaves.push_back(to_python(leaf, false));
  }
  return nested(std::move(leaves));
}

py::object CallSpec::nested(const py::object& result) const {
  std::vector<py::object> leaves;
  if (out_.leaf_count() == 1) {
    leaves.push_back(result);
  } else {
    for (const py::handle leaf : result) leaves.push_back(py::reinterpret_borrow<py::object>(leaf));
  }
  return nested(std::move(leaves));
}

py::object CallSpec::nested(std::vector<py::object> leaves) const {
  std::size_t next = 0;
  return out_.unflatten(leaves, next);
}

}  // namespace sr::python
