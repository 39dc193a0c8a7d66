// What entries say of operators, against what LibTorch knows.
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/registry/registry.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::operator_facts_tests {

namespace {

std::vector<std::shared_ptr<torch::jit::Operator>> overloads(c10::Symbol name) {
  return torch::jit::getAllOperatorsFor(name);
}

bool is_dispatched(const c10::FunctionSchema& schema) {
  return c10::Dispatcher::singleton().findSchema(schema.operator_name()).has_value();
}

bool returns_tensor(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(
      schema.returns(), [](const c10::Argument& result) { return detail::may_hold_tensor(result.type()); });
}

// Visits the operators of ATen that LibTorch's dispatcher runs and that write no `out` argument.
template <class Visit>
void each_operator(const Visit& visit) {
  for (const auto& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = op->schema();
    const bool has_out = std::ranges::any_of(schema.arguments(),
                                             [](const c10::Argument& argument) { return argument.is_out(); });
    if (is_dispatched(schema) && schema.name().starts_with("aten::") && !has_out) visit(schema);
  }
}

c10::Symbol name_of(const c10::FunctionSchema& schema) {
  return c10::Symbol::fromQualString(schema.name());
}

}  // namespace

TEST_CASE("facts are those of operators that LibTorch knows", "[facts]") {
  for (const OperatorParts& spec : registry().operators()) {
    if (spec.facts == 0 || spec.key.starts_with("sr_test::") || spec.key.starts_with("sr::") ||
        spec.key.starts_with("fbgemm::"))
      continue;
    const std::string name(spec.key.substr(0, spec.key.find('.')));
    INFO(name);
    CHECK((name.starts_with("prim::") || !overloads(c10::Symbol::fromQualString(name)).empty()));
  }
}

TEST_CASE("operators that read metadata only return no tensor", "[facts]") {
  const auto names = fact_table().names_with(Fact::reads_metadata_only);
  CHECK(names.size() > 40);
  for (const c10::Symbol name : names) {
    for (const auto& op : overloads(name)) {
      INFO(op->schema());
      const bool is_of_dictionary = name == c10::Symbol::fromQualString("aten::keys");
      CHECK((is_of_dictionary || !returns_tensor(op->schema())));
    }
  }
}

TEST_CASE("every operator that answers questions about tensors is known", "[facts]") {
  // These have no facts. A replay calls them again and gets the right answer, which depends only on the
  // elements of its arguments or on what the signature states.
  static const std::unordered_set<std::string> asked_again{"_choose_qparams_per_tensor",
                                                           "_cslt_sparse_mm_search",
                                                           "_debug_has_internal_overlap",
                                                           "_dimI",
                                                           "_dimV",
                                                           "_fused_sdp_choice",
                                                           "_has_compatible_shallow_copy_type",
                                                           "_is_zerotensor",
                                                           "_local_scalar_dense",
                                                           "_nested_get_ragged_idx",
                                                           "_nested_tensor_from_mask_left_aligned",
                                                           "_nnz",
                                                           "_use_cudnn_ctc_loss",
                                                           "_use_miopen_ctc_loss",
                                                           "allclose",
                                                           "cudnn_is_acceptable",
                                                           "dense_dim",
                                                           "equal",
                                                           "is_coalesced",
                                                           "is_distributed",
                                                           "is_nonzero",
                                                           "is_non_overlapping_and_dense",
                                                           "is_pinned",
                                                           "is_strides_like_format",
                                                           "item",
                                                           "q_per_channel_axis",
                                                           "q_scale",
                                                           "q_zero_point",
                                                           "qscheme",
                                                           "sparse_dim",
                                                           "sym_is_contiguous"};
  std::unordered_set<std::string> with_functor;
  for (const OperatorEntry& entry : registry().entries())
    with_functor.emplace(entry.key.substr(0, entry.key.find('.')));
  std::size_t found = 0;
  each_operator([&](const c10::FunctionSchema& schema) {
    const auto is_tensor = [](const c10::Argument& value) { return detail::may_hold_tensor(value.type()); };
    if (schema.returns().empty() || returns_tensor(schema) || schema.is_mutable() ||
        std::ranges::none_of(schema.arguments(), is_tensor))
      return;
    INFO(schema);
    ++found;
    CHECK((fact_table().of(name_of(schema)) != 0 || with_functor.contains(schema.name()) ||
           asked_again.contains(schema.name().substr(6))));
  });
  CHECK(found > 50);
}

TEST_CASE("operators that move values have an overload of the language", "[facts]") {
  for (const c10::Symbol name : fact_table().names_with(Fact::moves_values)) {
    INFO(name.toQualString());
    const auto all = overloads(name);
    CHECK((all.empty() ||
           std::ranges::any_of(all, [](const auto& op) { return !is_dispatched(op->schema()); })));
  }
}

TEST_CASE("every operator that is given a storage offset reads the whole storage", "[facts]") {
  std::size_t found = 0;
  each_operator([&](const c10::FunctionSchema& schema) {
    const bool has_offset = std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
      return argument.name() == "storage_offset";
    });
    const bool has_storage = std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
      return argument.type()->kind() == c10::TypeKind::StorageType;
    });
    if (!has_offset || has_storage || schema.arguments()[0].type()->kind() != c10::TypeKind::TensorType)
      return;
    INFO(schema);
    ++found;
    CHECK((has_fact(name_of(schema), Fact::reads_whole_storage) ||
           has_fact(name_of(schema), Fact::views_whole_storage)));
  });
  CHECK(found >= 4);
}

TEST_CASE("every norm that writes running statistics without saying so is known", "[facts]") {
  std::size_t found = 0;
  each_operator([&](const c10::FunctionSchema& schema) {
    const auto& arguments = schema.arguments();
    if (arguments.size() <= 5 || arguments[3].name() != "running_mean" ||
        arguments[4].name() != "running_var" || arguments[5].type()->kind() != c10::TypeKind::BoolType ||
        arguments[3].alias_info() != nullptr)
      return;
    const auto is_for = [&](std::string_view what) { return schema.name().find(what) != std::string::npos; };
    if (is_for("functional") || is_for("cudnn") || is_for("miopen"))
      return;  // returns them, or is not for CPUs
    INFO(schema);
    ++found;
    CHECK(has_fact(name_of(schema), Fact::trains_statistics));
  });
  CHECK(found >= 4);
}

TEST_CASE("operators that are said to make new results are composite and annotate no alias", "[facts]") {
  for (const c10::Symbol name : fact_table().names_with(Fact::makes_new_results)) {
    if (!name.is_aten()) continue;  // operators of sr and of FBGEMM
    bool is_needed = false;         // of some overload, no functor says it
    for (const auto& op : overloads(name)) {
      const auto handle = c10::Dispatcher::singleton().findSchema(op->schema().operator_name());
      if (!handle || op->schema().is_mutable()) continue;
      INFO(op->schema());
      const bool calls_others = handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
      is_needed |=
          calls_others && !fact_table().makes_new_results(c10::toString(op->schema().operator_name()));
      for (const c10::Argument& result : op->schema().returns()) CHECK(result.alias_info() == nullptr);
    }
    INFO(name.toQualString());
    CHECK(is_needed);
  }
}

TEST_CASE("operators that return new memory are LibTorch's factories of it", "[facts]") {
  each_operator([&](const c10::FunctionSchema& schema) {
    const std::string name = schema.name().substr(6);
    const bool makes_memory = name.starts_with("empty") || name.starts_with("new_empty");
    INFO(schema);
    if (makes_memory) CHECK(has_fact(name_of(schema), Fact::leaves_new_memory));
  });
}

TEST_CASE("an operator in place has the arguments of its functional twin", "[facts]") {
  std::size_t found = 0;
  for (const OperatorParts& spec : registry().operators()) {
    if (spec.functional.empty()) continue;
    ++found;
    INFO(spec.key << " and " << spec.functional);
    const auto schema_of = [](std::string_view key) {
      const std::size_t dot = key.find('.');
      const std::string overload(dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1));
      return c10::Dispatcher::singleton()
          .findSchemaOrThrow(std::string(key.substr(0, dot)).c_str(), overload.c_str())
          .schema();
    };
    const c10::FunctionSchema written = schema_of(spec.key), functional = schema_of(spec.functional);
    CHECK(written.arguments().at(0).alias_info()->isWrite());
    REQUIRE(written.arguments().size() == functional.arguments().size());
    for (std::size_t i = 0; i < written.arguments().size(); ++i) {
      if (i != 0) CHECK(written.arguments()[i].name() == functional.arguments()[i].name());
      CHECK(*written.arguments()[i].type() == *functional.arguments()[i].type());
    }
  }
  CHECK(found > 50);
}

TEST_CASE("an operator of which nothing is known has no fact", "[facts]") {
  CHECK(fact_table().of(c10::Symbol::fromQualString("sr_test::nothing_is_known")) == 0);
  CHECK_FALSE(has_fact(c10::aten::relu, Fact::unrepeatable));
  CHECK(has_fact(c10::aten::size, Fact::reads_metadata_only));
}

}  // namespace sr::test::operator_facts_tests
