// Facts about operators that recording needs: which read metadata alone, which change something, and which
// may answer differently for the same metadata.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr::replay {

namespace detail {

using Kinds = std::unordered_set<c10::Symbol>;

inline Kinds kinds(std::initializer_list<const char*> names) {
  Kinds set;
  for (const char* name : names) set.insert(c10::Symbol::fromQualString(name));
  return set;
}

// Operators that return scalars which depend on the metadata of tensors and never on their elements.
inline bool reads_metadata_only(c10::Symbol kind) {
  static const Kinds known = kinds({"aten::size",          "aten::dim",           "aten::numel",
                                    "aten::len",           "aten::stride",        "aten::is_floating_point",
                                    "aten::is_contiguous", "aten::is_neg",        "aten::is_complex",
                                    "aten::is_signed",     "aten::element_size",  "aten::sym_size",
                                    "aten::sym_numel",     "aten::sym_stride",    "aten::__is__",
                                    "aten::__isnot__",     "aten::result_type",   "aten::can_cast",
                                    "aten::get_device",    "aten::keys",          "prim::dtype",
                                    "prim::device",        "prim::layout",        "prim::is_cuda",
                                    "prim::is_cpu",        "prim::type",          "prim::isinstance",
                                    "prim::itemsize",      "prim::nbytes",        "prim::is_nested",
                                    "prim::is_sparse",     "prim::is_sparse_csr", "prim::is_quantized",
                                    "prim::is_mkldnn",     "prim::is_meta",       "prim::is_xla",
                                    "prim::is_xpu",        "prim::is_mps",        "prim::is_vulkan",
                                    "prim::is_mtia",       "prim::is_ipu",        "prim::is_maia",
                                    "aten::is_conj",       "aten::is_same_size"});
  return known.count(kind) != 0;
}

// List functions of the language that compare elements.
inline bool compares_elements(c10::Symbol kind) {
  static const Kinds known =
      kinds({"aten::index", "aten::remove", "aten::count", "aten::__contains__", "aten::eq", "aten::ne",
             "aten::sort", "aten::sorted", "prim::min", "prim::max"});
  return known.count(kind) != 0;
}

// Operators of the language that build, unpack or copy containers and read no tensor in them.
inline bool moves_values(c10::Symbol kind) {
  static const Kinds known =
      kinds({"prim::ListConstruct", "prim::ListUnpack",     "prim::TupleConstruct",
             "prim::TupleUnpack",   "prim::TupleIndex",     "prim::TupleSlice",
             "prim::DictConstruct", "prim::unchecked_cast", "prim::unchecked_unwrap_optional",
             "prim::Uninitialized", "aten::__getitem__",    "aten::_set_item",
             "aten::add",           "aten::add_",           "aten::append",
             "aten::clear",         "aten::copy",           "aten::Delete",
             "aten::dict",          "aten::extend",         "aten::get",
             "aten::insert",        "aten::items",          "aten::list",
             "aten::mul",           "aten::mul_",           "aten::pop",
             "aten::popitem",       "aten::reverse",        "aten::select",
             "aten::setdefault",    "aten::slice",          "aten::update",
             "aten::values"});
  return known.count(kind) != 0;
}

// Operators that ask whether two names refer to one value, which no signature states.
inline bool compares_identity(c10::Symbol kind) {
  static const Kinds known = kinds({"aten::__is__", "aten::__isnot__", "aten::is_set_to"});
  return known.count(kind) != 0;
}

// Operators that ask how often a tensor was written, or where its elements begin in its storage, which no
// signature states either.
inline bool asks_storage(c10::Symbol kind) {
  static const Kinds known =
      kinds({"aten::_version", "aten::storage_offset", "aten::sym_storage_offset", "aten::data_ptr"});
  return known.count(kind) != 0;
}

// Whether x[i, j] is indexed by integers only, so that the size of the result does not depend on data, as it
// does for masks.
inline bool chooses_by_integers(c10::Symbol kind, const std::vector<c10::IValue>& inputs) {
  if (kind != c10::aten::index || inputs.size() != 2 || !inputs[1].isList()) return false;
  bool any = false;
  for (const c10::IValue& index : inputs[1].toListRef()) {
    if (!index.isTensor() || !index.toTensor().defined()) continue;
    const at::ScalarType dtype = index.toTensor().scalar_type();
    if (dtype != at::kLong && dtype != at::kInt) return false;
    any = true;
  }
  return any;
}

// Views that read only sizes or dtype of their second tensor.
inline bool shapes_like_second(c10::Symbol kind) {
  static const Kinds known = kinds({"aten::expand_as", "aten::view_as", "aten::reshape_as", "aten::type_as",
                                    "aten::broadcast_tensors", "aten::meshgrid", "aten::to"});
  return known.count(kind) != 0;
}

// Operators that read the storage of their first input beyond the elements of the tensor.
inline bool reads_whole_storage(c10::Symbol kind) {
  static const Kinds known = kinds({"aten::as_strided_copy", "aten::as_strided_scatter"});
  return known.count(kind) != 0;
}

// Operators that return a view whose offset counts from the beginning of the first input's storage.
inline bool views_whole_storage(c10::Symbol kind) {
  static const Kinds known = kinds({"aten::as_strided", "aten::as_strided_"});
  return known.count(kind) != 0;
}

// Operators that return uninitialised elements.
inline bool leaves_new_memory(c10::Symbol kind) {
  static const Kinds known =
      kinds({"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted",
             "aten::empty_quantized", "aten::new_empty", "aten::new_empty_strided", "aten::resize",
             "aten::resize_", "aten::resize_as", "aten::resize_as_"});
  return known.count(kind) != 0;
}

// Operators that answer differently for the same static arguments. Queries of gradient mode and autocast are
// not among them: calls of sr compute no gradients, and autocast is part of the signature.
inline bool asks_the_world(c10::Symbol kind) {
  static const Kinds known =
      kinds({"prim::TimePoint", "aten::time", "aten::seed", "aten::initial_seed", "aten::get_num_threads",
             "aten::set_num_threads", "aten::manual_seed", "prim::requires_grad", "aten::requires_grad_",
             "aten::set_grad_enabled", "aten::get_autocast_dtype"});
  return known.count(kind) != 0;
}

// Operators with an effect that a replay would not repeat.
inline bool has_effect(c10::Symbol kind) {
  return kind == c10::prim::Print || kind == c10::aten::warn || kind == c10::prim::SetAttr ||
         asks_the_world(kind);
}

// Recurrent networks, attention and dropout draw random numbers only in training and with a dropout
// probability above 0, although the tags of their schemas say that they always do.
inline bool drops_nothing(const torch::jit::Node& node, const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    const std::string& name = arguments[i].name();
    const auto value = torch::jit::toIValue(node.input(i));
    if (!value) continue;
    const bool idle =
        (name == "train" || name == "training")
            ? value->isBool() && !value->toBool()
            : (name == "dropout" || name == "dropout_p") && value->isDouble() && value->toDouble() == 0;
    if (idle) return true;
  }
  return false;
}

inline bool draws_random_numbers(const torch::jit::Node& node) {
  const auto handle = sr::detail::dispatched(node);
  if (!handle) return node.isNondeterministic();
  return handle->hasTag(at::Tag::nondeterministic_seeded) && !drops_nothing(node, handle->schema());
}

}  // namespace detail

struct OperatorFacts {
  bool foreign = false;  // neither the language's nor ATen's nor a functor of ours
  bool builtin = false;  // the language's own: containers, numbers, strings
  bool changes_tensor = false;
  bool changes_container = false;
  bool has_effect = false;  // prints, warns, sets an attribute
  bool is_random = false;
  bool data_decides = false;  // sizes of the results depend on elements
};

inline OperatorFacts facts_of(const ProcessedNode& processed) {
  const torch::jit::Node& node = *processed.node;
  OperatorFacts facts;
  const c10::Symbol kind = node.kind();
  facts.has_effect = detail::has_effect(kind);
  const c10::FunctionSchema* schema = node.maybeSchema();
  const auto handle = sr::detail::dispatched(node);
  facts.builtin = !handle && (kind.is_prim() || kind.is_aten());
  facts.foreign = kind == c10::prim::fork || kind == c10::aten::wait || kind == c10::prim::CallMethod ||
                  kind == c10::prim::CallFunction ||
                  (!kind.is_prim() && !kind.is_aten() && processed.kind == NodeKind::fallback);
  if (schema != nullptr && schema->is_mutable())
    (handle ? facts.changes_tensor : facts.changes_container) = true;
  if (handle) {
    facts.data_decides =
        handle->hasTag(at::Tag::dynamic_output_shape) || handle->hasTag(at::Tag::data_dependent_output);
  }
  facts.is_random = detail::draws_random_numbers(node);
  return facts;
}

// Values that the blocks of a node read and that are defined outside of the node.
inline std::vector<const torch::jit::Value*> captures_of(const torch::jit::Node& node) {
  std::vector<const torch::jit::Value*> captured;
  std::unordered_set<const torch::jit::Value*> seen;
  const auto visit = [&](const auto& self, const torch::jit::Block* block) -> void {
    for (const torch::jit::Value* input : block->inputs()) seen.insert(input);
    const auto use = [&](const torch::jit::Value* value) {
      if (seen.insert(value).second) captured.push_back(value);
    };
    for (const torch::jit::Node* inner : block->nodes()) {
      for (const torch::jit::Value* input : inner->inputs()) use(input);
      for (const torch::jit::Block* nested : inner->blocks()) self(self, nested);
      for (const torch::jit::Value* output : inner->outputs()) seen.insert(output);
    }
    for (const torch::jit::Value* output : block->outputs()) use(output);
  };
  for (const torch::jit::Block* block : node.blocks()) visit(visit, block);
  return captured;
}

// Whether a body neither changes a value, draws random numbers, nor calls unknown code, so that a program may
// run it.
inline bool body_is_pure(const torch::jit::Block* block) {
  return !sr::detail::any_node(block, [](const torch::jit::Node* node) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    const bool is_known = node->kind().is_prim() || node->kind().is_aten();
    return !is_known || (schema != nullptr && schema->is_mutable()) || detail::draws_random_numbers(*node) ||
           node->kind() == c10::prim::fork || node->kind() == c10::prim::CallMethod ||
           node->kind() == c10::prim::CallFunction || detail::has_effect(node->kind());
  });
}

}  // namespace sr::replay
