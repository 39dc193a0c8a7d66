#include "call_tree.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <sr/error.hpp>

#include "values.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

std::string type_name(py::handle value) {
  return Py_TYPE(value.ptr())->tp_name;
}

bool is_type(py::handle type, const PyTypeObject& other) {
  return type.ptr() == reinterpret_cast<const PyObject*>(&other);
}

py::object pytree() {
  return py::module_::import("torch.utils._pytree");
}

bool contains(const std::vector<py::object>& keys, py::handle key) {
  return std::ranges::any_of(keys, [&](const py::object& known) { return known.equal(key); });
}

// The element of a list, which another thread may change meanwhile. Throws IndexError.
py::object element_of(py::handle list, std::size_t i) {
  PyObject* const element = PySequence_GetItem(list.ptr(), static_cast<Py_ssize_t>(i));
  if (element == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(element);
}

// True if the __init__ of a dataclass only assigns its `count` fields. Compares its bytecode with that of the
// __init__ which Python generates for the same field names.
bool assigns_fields_only(const py::object& type, std::size_t count) {
  const py::module_ dataclasses = py::module_::import("dataclasses");
  py::list names;
  for (const py::handle field : dataclasses.attr("fields")(type)) names.append(field.attr("name"));
  const auto* const layout = reinterpret_cast<const PyTypeObject*>(type.ptr());
  const bool is_frozen = type.attr("__dataclass_params__").attr("frozen").cast<bool>();
  if (names.size() != count || layout->tp_new != PyBaseObject_Type.tp_new ||
      (!is_frozen && layout->tp_setattro != &PyObject_GenericSetAttr))
    return false;
  const py::object init = type.attr("__init__");
  if (!py::hasattr(init, "__code__")) return false;
  const py::object twin =
      dataclasses.attr("make_dataclass")("Twin", names, py::arg("frozen") = is_frozen).attr("__init__");
  return std::ranges::all_of(
      std::initializer_list<const char*>{"co_code", "co_names", "co_consts"}, [&](const char* part) {
        return init.attr("__code__").attr(part).equal(twin.attr("__code__").attr(part));
      });
}

}  // namespace

std::string brief(py::handle value) {
  constexpr std::size_t kMost = 120;
  std::string text = py::repr(value);
  std::ranges::replace(text, '\n', ' ');
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<py::object>& keys) {
  std::string text;
  for (const py::object& key : keys) text += (text.empty() ? "" : ", ") + brief(key);
  return text.empty() ? "none" : text;
}

std::string difference(const std::vector<py::object>& wanted, const std::vector<py::object>& given) {
  std::vector<py::object> missing, extra;
  std::ranges::copy_if(wanted, std::back_inserter(missing),
                       [&](const auto& key) { return !contains(given, key); });
  std::ranges::copy_if(given, std::back_inserter(extra),
                       [&](const auto& key) { return !contains(wanted, key); });
  std::string text;
  if (!missing.empty()) text += "lacks " + listed(missing);
  if (!extra.empty())
    text += (text.empty() ? "has " : " and has ") + listed(extra) + ", which the model does not take";
  return text;
}

bool has_type(py::handle value, py::handle type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())) == type.ptr();
}

std::string TreePath::text(bool begins_sentence) const {
  const std::string here = key ? brief(key) : std::to_string(position);
  if (outer != nullptr) return outer->text(begins_sentence) + "[" + here + "]";
  return (begins_sentence ? "Argument " : "argument ") + here;
}

TreeNode::TreeNode(const py::object& spec) {
  if (spec.attr("is_leaf")().cast<bool>()) return;
  type_ = spec.attr("type");
  context_ = spec.attr("context");
  leaf_count_ = 0;
  for (const py::handle child : spec.attr("children")()) {
    children_.emplace_back(py::reinterpret_borrow<py::object>(child));
    leaf_count_ += children_.back().leaf_count();
  }
  const py::module_ collections = py::module_::import("collections");
  if (is_type(type_, PyTuple_Type)) {
    kind_ = Kind::tuple;
  } else if (is_type(type_, PyList_Type)) {
    kind_ = Kind::list;
  } else if (is_type(type_, PyDict_Type) || type_.is(collections.attr("OrderedDict"))) {
    kind_ = Kind::dict;
    for (const py::handle key : context_) keys_.push_back(py::reinterpret_borrow<py::object>(key));
  } else if (type_.is(collections.attr("namedtuple"))) {
    kind_ = Kind::named_tuple;
    type_ = context_;
    // Then __new__ is the one that Python generated, which only makes a tuple.
    const py::tuple bases = type_.attr("__bases__");
    is_plain_ = bases.size() == 1 && is_type(bases[0], PyTuple_Type);
  } else {
    kind_ = Kind::other;
    const py::object known = pytree().attr("SUPPORTED_NODES")[type_];
    flatten_ = known.attr("flatten_fn");
    unflatten_ = known.attr("unflatten_fn");
    read_dataclass();
  }
}

// pytree's context for a dataclass holds two lists of field names: the fields that are children, and the
// fields that were None.
void TreeNode::read_dataclass() {
  if (!py::module_::import("dataclasses").attr("is_dataclass")(type_).cast<bool>()) return;
  if (!py::isinstance<py::list>(context_) && !py::isinstance<py::tuple>(context_)) return;
  if (py::len(context_) != 2) return;
  const auto are_names = [](py::handle names) {
    return py::isinstance<py::list>(names) &&
           std::ranges::all_of(names, [](py::handle name) { return py::isinstance<py::str>(name); });
  };
  const py::object fields = context_[py::int_(0)], absent = context_[py::int_(1)];
  if (!are_names(fields) || !are_names(absent) || py::len(fields) != children_.size()) return;
  // Only pytree's own function for dataclasses makes such a context of any value.
  if (unflatten_.attr("__module__").cast<std::string>() != "torch.utils._pytree") return;
  kind_ = Kind::dataclass;
  names_ = py::tuple(fields + absent);
  is_plain_ = assigns_fields_only(type_, py::len(names_));
}

std::string TreeNode::described() const {
  switch (kind_) {
    case Kind::leaf:
      return "a single value";
    case Kind::tuple:
      return "a tuple of " + counted(children_.size(), "element");
    case Kind::list:
      return "a list of " + counted(children_.size(), "element");
    case Kind::dict:
      return "a " + type_.attr("__name__").cast<std::string>() + " with the keys " + listed(keys_);
    default:
      return "a value of the type " + type_.attr("__name__").cast<std::string>();
  }
}

void TreeNode::refuse(py::handle value, const TreePath& path) const {
  std::string given = "a value of the type " + type_name(value);
  if (PyTuple_CheckExact(value.ptr()) || PyList_CheckExact(value.ptr()))
    given = "a " + type_name(value) + " of " + counted(py::len(value), "element");
  throw ArgumentError(path.text(/*begins_sentence=*/true) + " is " + given +
                      "; the model was exported with " + described() + " there.");
}

void TreeNode::flatten(py::handle value, const TreePath& path, std::vector<py::object>& leaves) const {
  PyObject* const object = value.ptr();
  switch (kind_) {
    case Kind::leaf:
      leaves.push_back(py::reinterpret_borrow<py::object>(value));
      return;
    case Kind::tuple:
    case Kind::named_tuple:
      if (kind_ == Kind::tuple ? !PyTuple_CheckExact(object) : !has_type(value, type_)) refuse(value, path);
      if (static_cast<std::size_t>(PyTuple_GET_SIZE(object)) != children_.size()) refuse(value, path);
      for (std::size_t i = 0; i < children_.size(); ++i)
        children_[i].flatten(PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)), {&path, i}, leaves);
      return;
    case Kind::list:
      // The length is read for each element, since flattening one may run Python code that changes the list.
      for (std::size_t i = 0;; ++i) {
        if (!PyList_CheckExact(object) ||
            static_cast<std::size_t>(PyList_GET_SIZE(object)) != children_.size())
          refuse(value, path);
        if (i == children_.size()) return;
        children_[i].flatten(element_of(value, i), {&path, i}, leaves);
      }
    case Kind::dict:
      return flatten_dict(value, path, leaves);
    default:
      return flatten_other(value, path, leaves);
  }
}

void TreeNode::flatten_dict(py::handle value, const TreePath& path, std::vector<py::object>& leaves) const {
  if (!has_type(value, type_)) refuse(value, path);
  bool fits = static_cast<std::size_t>(PyDict_Size(value.ptr())) == keys_.size();
  for (std::size_t i = 0; fits && i < keys_.size(); ++i) {
    const auto element = py::reinterpret_steal<py::object>(PyObject_GetItem(value.ptr(), keys_[i].ptr()));
    if (!element && PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw py::error_already_set();
    if (!element) PyErr_Clear();
    fits = static_cast<bool>(element);
    if (fits) children_[i].flatten(element, {&path, i, keys_[i]}, leaves);
  }
  if (fits) return;
  std::vector<py::object> given;
  for (const py::handle key : py::list(py::reinterpret_borrow<py::object>(value)))
    given.push_back(py::reinterpret_borrow<py::object>(key));
  throw ArgumentError("The dictionary that is " + path.text() + " " + difference(keys_, given) +
                      ". The model was exported with the keys " + listed(keys_) + ".");
}

void TreeNode::flatten_other(py::handle value, const TreePath& path, std::vector<py::object>& leaves) const {
  if (!has_type(value, type_)) refuse(value, path);
  const py::object parts = flatten_(value);
  const py::object children = parts[py::int_(0)], context = parts[py::int_(1)];
  if (py::len(children) != children_.size() || !context.equal(context_)) {
    throw ArgumentError(path.text(/*begins_sentence=*/true) + ", of the type " + type_name(value) +
                        ", has the structure " + brief(context) + "; the model was exported with " +
                        brief(context_) + ".");
  }
  std::size_t i = 0;
  for (const py::handle child : children) {
    children_[i].flatten(child, {&path, i}, leaves);
    ++i;
  }
}

// Makes an object of a dataclass without calling its __init__, which only assigns the fields.
py::object TreeNode::assigned(std::vector<py::object>& leaves, std::size_t& next) const {
  static PyObject* const nothing = PyTuple_New(0);
  const auto made = py::reinterpret_steal<py::object>(
      PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(type_.ptr()), nothing, nullptr));
  if (!made) throw py::error_already_set();
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(names_.ptr()));
  for (std::size_t i = 0; i < count; ++i) {
    const py::object value = i < children_.size() ? children_[i].unflatten(leaves, next) : py::none();
    PyObject* const name = PyTuple_GET_ITEM(names_.ptr(), static_cast<Py_ssize_t>(i));
    if (PyObject_GenericSetAttr(made.ptr(), name, value.ptr()) != 0) throw py::error_already_set();
  }
  return made;
}

py::object TreeNode::unflatten(std::vector<py::object>& leaves, std::size_t& next) const {
  if (kind_ == Kind::leaf) return std::move(leaves[next++]);
  if (kind_ == Kind::list) {
    py::list made(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i) made[i] = children_[i].unflatten(leaves, next);
    return made;
  }
  if (kind_ == Kind::dict) {
    py::object made = is_type(type_, PyDict_Type) ? py::object(py::dict()) : type_();
    for (std::size_t i = 0; i < children_.size(); ++i) made[keys_[i]] = children_[i].unflatten(leaves, next);
    return made;
  }
  if (kind_ == Kind::dataclass && is_plain_) return assigned(leaves, next);
  py::tuple children(children_.size());
  for (std::size_t i = 0; i < children_.size(); ++i) children[i] = children_[i].unflatten(leaves, next);
  if (kind_ == Kind::tuple) return children;
  if (kind_ == Kind::named_tuple && is_plain_) return named_tuple(type_, children);
  if (kind_ == Kind::named_tuple) return type_(*children);
  if (kind_ == Kind::other) return unflatten_(py::list(children), context_);
  std::vector<PyObject*> values;
  for (const py::handle child : children) values.push_back(child.ptr());
  values.resize(py::len(names_), Py_None);
  PyObject* const made = PyObject_Vectorcall(type_.ptr(), values.data(), 0, names_.ptr());
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

}  // namespace sr::python
