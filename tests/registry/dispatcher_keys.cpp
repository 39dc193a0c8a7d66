// Every registered schema equals LibTorch's under the same key.
#include <algorithm>
#include <set>

#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <sr/registry/registry.hpp>

#include "support/catch.hpp"
#include "support/samples.hpp"

namespace sr::test::dispatcher_keys_tests {

namespace {

std::string text_of(const c10::Argument& argument) {
  const std::string alias = argument.alias_info() == nullptr   ? ""
                            : argument.alias_info()->isWrite() ? "!"
                                                               : "&";
  const std::string type = argument.real_type()->repr_str();
  return type + alias + " " + argument.name() + (argument.kwarg_only() ? " by keyword" : "") +
         (argument.default_value() ? " = " + c10::str(*argument.default_value()) : "");
}

// One line for each argument and result.
std::string text_of(const c10::FunctionSchema& schema) {
  std::string text;
  for (const c10::Argument& argument : schema.arguments()) text += text_of(argument) + "\n";
  text += "->\n";
  for (const c10::Argument& result : schema.returns()) {
    text += result.real_type()->repr_str() + (result.alias_info() == nullptr ? "" : " &") + "\n";
  }
  return text;
}

}  // namespace

// True for operators that LibTorch does not register: those of sr, of other tests, and of FBGEMM.
bool is_own(std::string_view key) {
  return key.starts_with("sr::") || key.starts_with("sr_test::") || key.starts_with("sr_replay::") ||
         key.starts_with("fbgemm::");
}

TEST_CASE("every registered schema is LibTorch's own", "[ops]") {
  for (const OperatorEntry& entry : registry().entries()) {
    if (entry.schema.empty() || is_own(entry.key)) continue;
    INFO(entry.schema << " for " << functor_name(entry));
    const auto theirs = detail::libtorch_schema(std::string(entry.key));
    if (!theirs) {
      FAIL_CHECK("LibTorch has no operator of that name");
      continue;
    }
    CHECK(text_of(torch::jit::parseSchema(std::string(entry.schema))) == text_of(*theirs));
  }
}

TEST_CASE("every operator with parts is one of LibTorch's", "[ops]") {
  for (const OperatorParts& spec : registry().operators()) {
    if (is_own(spec.key)) continue;
    INFO(spec.schema);
    const auto theirs = detail::libtorch_schema(std::string(spec.key));
    if (!theirs) {
      // Facts of all overloads.
      CHECK(spec.key == spec.schema);
      CHECK(spec.key.find('.') == std::string_view::npos);
    } else if (spec.key != spec.schema) {
      CHECK(text_of(torch::jit::parseSchema(std::string(spec.schema))) == text_of(*theirs));
    }
  }
}

TEST_CASE("every operator with its own functor is in a table of the oracle", "[ops]") {
  std::set<std::string> tested = {
      // Preparation renames or removes these.
      "aten::detach", "aten::multiply.Scalar", "aten::divide.Scalar", "aten::true_divide.Scalar",
      "aten::subtract.Scalar", "aten::divide.Scalar_mode", "aten::rsub.Tensor", "aten::ceil.int",
      "aten::alias", "aten::adjoint", "aten::moveaxis.int", "aten::moveaxis.intlist", "aten::swapaxes",
      "aten::swapdims", "aten::split",
      // Of two overloads with the same arguments, graphs contain only the first.
      "aten::numpy_T.a", "aten::matrix_H.a", "aten::mT.a", "aten::mH.a", "aten::pow.int_to_int",
      "aten::Float.int", "aten::len.any", "aten::view.dtype",
      // Tested in separate test cases.
      "aten::extend.t", "aten::_set_item.t", "aten::_set_item.str", "aten::_set_item.int",
      "aten::_set_item.bool", "aten::_set_item.float", "aten::_set_item.complex", "aten::_set_item.Tensor",
      "aten::len.Dict_Tensor", "aten::__getitem__.Dict_Tensor", "aten::__contains__.Tensor",
      "aten::keys.Tensor", "aten::values.Tensor", "aten::eq.enum", "aten::ne.enum"};
  for (const OpRow& row : OracleTable::all_rows()) tested.insert(row.key);
  std::string missing;
  for (const OperatorEntry& entry : registry().entries()) {
    if (is_own(entry.key)) continue;
    const std::string key(entry.key);
    if (!entry.schema.empty() && tested.count(key) == 0) missing += key + "\n";
  }
  CHECK(missing == "");
}

}  // namespace sr::test::dispatcher_keys_tests
