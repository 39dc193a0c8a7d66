// Arithmetic on sizes and other numbers. The exported program calls Python functions; the graph has operators
// of the language.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/export/builder.hpp>

namespace sr::exported {

namespace detail {

inline constexpr std::array<std::pair<std::string_view, const char*>, 26> kSymbolic{{
    {"_operator.add", "aten::add"},
    {"_operator.sub", "aten::sub"},
    {"_operator.mul", "aten::mul"},
    {"_operator.floordiv", "aten::floordiv"},
    {"_operator.truediv", "aten::div"},
    {"_operator.mod", "aten::remainder"},
    {"_operator.pow", "aten::pow"},
    {"_operator.neg", "aten::neg"},
    {"_operator.eq", "aten::eq"},
    {"_operator.ne", "aten::ne"},
    {"_operator.lt", "aten::lt"},
    {"_operator.le", "aten::le"},
    {"_operator.gt", "aten::gt"},
    {"_operator.ge", "aten::ge"},
    {"_operator.and_", "aten::__and__"},
    {"_operator.or_", "aten::__or__"},
    {"_operator.lshift", "aten::__lshift__"},
    {"_operator.rshift", "aten::__rshift__"},
    {"math.floor", "aten::floor"},
    {"math.ceil", "aten::ceil"},
    {"torch.sym_not", "aten::__not__"},
    {"torch.sym_max", "prim::max"},
    {"torch.sym_min", "prim::min"},
    {"torch.sym_sqrt", "aten::sqrt"},
    {"torch.sym_float", "aten::Float"},
    {"torch.sym_int", "aten::Int"},
}};

inline bool any_of_kind(const std::vector<Value*>& values, c10::TypeKind kind) {
  return std::ranges::any_of(values, [&](Value* value) { return value->type()->kind() == kind; });
}

}  // namespace detail

// Returns false if the function is unknown.
inline bool Builder::add_symbolic(const Json& node, const std::string& target) {
  Values given;
  for (const Json& input : items_of(node, "inputs", where_)) {
    given.push_back(argument(member(input, "arg", where_), c10::AnyType::get()));
  }
  if (target == "torch.sym_ite" && given.size() == 3) {
    torch::jit::Node* choice = insert(c10::prim::If, {truth(given[0])}, 0);
    for (const std::size_t branch : {1U, 2U}) choice->addBlock()->registerOutput(given[branch]);
    choice->addOutput()->setType(given[1]->type());
    define_results(node, {choice->output()});
    return true;
  }
  if ((target == "_operator.pos" || target == "math.trunc") && given.size() == 1) {
    define_results(node, given);  // which makes an integer of what is to be one
    return true;
  }
  const auto known = std::ranges::find(detail::kSymbolic, std::string_view(target),
                                       &std::pair<std::string_view, const char*>::first);
  if (known == detail::kSymbolic.end() || given.empty() || given.size() > 2) return false;
  // Two kinds of numbers are converted to the wider kind; bools count as 0 or 1.
  using c10::TypeKind;
  const bool numbers =
      detail::any_of_kind(given, TypeKind::IntType) || detail::any_of_kind(given, TypeKind::FloatType);
  c10::TypePtr common = c10::AnyType::get();
  if (given.size() == 2 && numbers) common = c10::IntType::get();
  if (given.size() == 2 && detail::any_of_kind(given, TypeKind::FloatType)) common = c10::FloatType::get();
  for (Value*& value : given) value = coerce(value, common);
  const char* const name = known->second;
  define_results(node, {given.size() == 1 ? call(name, {given[0]}) : call(name, {given[0], given[1]})});
  return true;
}

}  // namespace sr::exported
