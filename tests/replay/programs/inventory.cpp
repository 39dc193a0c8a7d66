// LibTorch exports the two operator tables of its own Static Runtime. An out variant there is an out variant
// here, and a native operator there is native or better here. Exceptions are named with their reasons; an
// exception that is no longer needed fails the test, like a missing operator.
#include <map>
#include <set>
#include <sstream>

#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/runtime/static/ops.h>
#include <torch/script.h>

#include <sr/registry/probe_node.hpp>
#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test::inventory_tests {

namespace {

const char* const kMadeByPasses = "made by upstream's passes only";
const char* const kNotExported =
    "LibTorch does not export the kernel that writes into a given tensor: native";
const char* const kOtherStrides = "its result has other strides than that of `.out`: native";
const char* const kQuantizedResult =
    "its result is quantized, and memory is planned for plain tensors: native";

const std::map<std::string, std::string>& exceptions() {
  static const std::map<std::string, std::string> named = {
      {"fb::quantized_linear", "not in this LibTorch"},
      {"prim::TensorExprDynamicGroup", kMadeByPasses},
      {"static_runtime::dequantize_copy.self", kMadeByPasses},
      {"static_runtime::flatten_copy.using_ints", kMadeByPasses},
      {"static_runtime::reshape_copy", kMadeByPasses},
      {"static_runtime::signed_log1p", kMadeByPasses},
      {"static_runtime::to_copy.prim_dtype", kMadeByPasses},
      {"static_runtime::to_copy.dtype", kMadeByPasses},
      {"static_runtime::to_copy.other", kMadeByPasses},
      {"static_runtime::to_maybe_copy_out.prim_dtype", kMadeByPasses},
      {"static_runtime::to_maybe_copy_out.dtype", kMadeByPasses},
      {"static_runtime::to_maybe_copy_out.other", kMadeByPasses},
      {"static_runtime::VarTupleUnpack", kMadeByPasses},
      {"static_runtime::create_owned_ref", kMadeByPasses},
      {"static_runtime::dict_unpack", kMadeByPasses},
      {"static_runtime::select_tensor", kMadeByPasses},
      {"aten::diff", "returns a view of its argument where that has too few elements: native"},
      {"aten::quantile", kOtherStrides},
      {"aten::nanquantile", kOtherStrides},
      {"quantized::linear", kQuantizedResult},
      {"quantized::embedding_bag_byte_prepack", kNotExported},
      {"quantized::embedding_bag_byte_unpack", kNotExported},
      {"quantized::embedding_bag_byte_rowwise_offsets", kNotExported},
      {"quantized::embedding_bag_4bit_rowwise_offsets", kNotExported},
  };
  return named;
}

bool makes_tensors_only(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  return !returns.empty() && std::all_of(returns.begin(), returns.end(), [](const c10::Argument& one) {
    return one.type()->kind() == c10::TypeKind::TensorType && one.alias_info() == nullptr;
  });
}

// The functor registered for a key, with any arguments.
std::optional<NodeKind> registered(const std::string& key) {
  for (const NodeKind kind : {NodeKind::out_variant, NodeKind::native}) {
    if (registry().find(key, kind)) return kind;
  }
  return std::nullopt;
}

// A sentence about what is wrong with the selection for one overload; empty if nothing is.
std::string complaint(const c10::FunctionSchema& schema, bool has_to_be_out) {
  const bool is_prim = schema.name().starts_with("prim::");
  const std::string key = is_prim ? schema.name() : key_of(schema);
  has_to_be_out = has_to_be_out && makes_tensors_only(schema);
  NodeKind kind = registered(key).value_or(NodeKind::fallback);
  if (!schema.is_vararg() && !schema.is_varret() && !is_prim) {
    const OperatorSelection selection = select_operator(schema);
    if (selection.reachable) kind = selection.kind;
  }
  if (kind == NodeKind::fallback) return "falls back to the interpreter";
  return has_to_be_out && kind != NodeKind::out_variant ? "is no out variant" : "";
}

// Overloads for tensors with named dimensions, which PyTorch 2.13 has removed: "dimname_src", "using_names".
bool is_for_names(const c10::FunctionSchema& schema) {
  return schema.overload_name().find("name") != std::string::npos;
}

// The sentences for all overloads of upstream's names, by key.
std::map<std::string, std::string> complaints(const std::vector<std::string>& names, bool have_to_be_out) {
  std::map<std::string, std::string> found;
  for (const std::string& name : names) {
    const auto operators = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
    bool has_schema = false;
    for (const auto& one : operators) {
      const c10::FunctionSchema& schema = one->schema();
      has_schema = true;
      if (schema.is_mutable() || is_for_names(schema)) continue;
      if (const std::string what = complaint(schema, have_to_be_out); !what.empty())
        found[key_of(schema)] = what;
    }
    if (!has_schema && !registered(name)) found[name] = "has neither a schema nor a functor";
  }
  return found;
}

std::string difference(const std::map<std::string, std::string>& found, const std::set<std::string>& asked) {
  std::ostringstream text;
  for (const auto& [key, what] : found) {
    if (exceptions().count(key) == 0) text << key << " " << what << ".\n";
  }
  for (const auto& [key, reason] : exceptions()) {
    if (asked.count(key.substr(0, key.find('.'))) != 0 && found.count(key) == 0)
      text << key << " is an exception (" << reason << ") that is not needed any more.\n";
  }
  return text.str();
}

}  // namespace

TEST_CASE("upstream's operators are selected as it selects them or better", "[ops]") {
  const auto out = torch::jit::SROperatorRegistry()->Keys();
  const auto native = torch::jit::SRNativeOperatorRegistry()->Keys();
  REQUIRE(out.size() > 200);
  REQUIRE(native.size() > 80);
  std::map<std::string, std::string> found = complaints(out, true);
  found.merge(complaints(native, false));
  std::set<std::string> asked(out.begin(), out.end());
  asked.insert(native.begin(), native.end());
  CHECK(difference(found, asked) == "");
}

TEST_CASE("a selection without a model", "[ops]") {
  const auto schema_of = [](const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).schema();
  };
  CHECK(select_operator(schema_of("aten::relu", "")).kind == NodeKind::out_variant);
  CHECK(select_operator(schema_of("aten::cumsum", "")).functor == "generic out variant");
  CHECK(select_operator(schema_of("aten::transpose", "int")).kind == NodeKind::native);
  CHECK(select_operator(schema_of("aten::stft", "center")).kind == NodeKind::fallback);
}

}  // namespace sr::test::inventory_tests
