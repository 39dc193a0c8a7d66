// Guards of an exported program: ranges of dynamic dimensions, and dimensions that are equal or computed from
// one another. A call that violates them raises, as the eager exported program does.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sr/frontend/export/assertions.hpp>
#include <sr/frontend/export/builder.hpp>
#include <sr/frontend/export/expression.hpp>

namespace sr::exported {

class SizeGuards {
 public:
  SizeGuards(Builder& builder, const Json& ranges) : builder_(builder), ranges_(ranges) {}

  // `what` names the size, `size` is a SymInt of the schema, and `value()` adds its value to the graph.
  template <class MakeValue>
  void add(const std::string& what, const Json& size, const MakeValue& value) {
    const auto [tag, symbolic] = tagged(size, builder_.where());
    if (tag != "as_expr") return;
    const std::optional<Expression> parsed =
        parse_expression(text_of(symbolic, "expr_str", builder_.where()));
    if (!parsed) return;
    if (parsed->kind != Expression::Kind::symbol) {
      derived_.push_back({what, *parsed, value()});
      return;
    }
    Value* const actual = value();
    const auto [first, is_new] = symbols_.try_emplace(parsed->symbol, actual, what);
    if (is_new) return check_range(what, parsed->symbol, actual);
    require("aten::eq", actual, first->second.first, what + " is not equal to " + first->second.second);
  }

  // Must be called when all sizes are known: checks those that are computed from others.
  void finish() {
    for (const Derived& size : derived_) {
      if (Value* const expected = compute(size.expression)) {
        require("aten::eq", size.actual, expected,
                size.what + " does not follow from the other sizes as it did at export");
      }
    }
  }

 private:
  struct Derived {
    std::string what;
    Expression expression;
    Value* actual;
  };

  void require(const char* comparison, Value* left, Value* right, const std::string& what) {
    builder_.require(builder_.call(comparison, {left, right}),
                     "The call is outside of what was exported: " + what + ".", "sr.ArgumentError");
  }

  void check_range(const std::string& what, const std::string& symbol, Value* actual) {
    const auto range = ranges_.find(symbol);
    if (range == ranges_.end()) return;
    const auto bound = [&](const char* name, const char* comparison, const char* words) {
      const Json& limit = member(*range, name, builder_.where());
      if (limit.is_null()) return;
      const std::int64_t number = as_int(limit, builder_.where());
      // A lower bound of 2 also admits 0 and 1: export assumes it for every dynamic size, and the eager
      // program does not check it.
      if (comparison[6] == 'g' && number <= 2) return;
      require(comparison, actual, builder_.constant(number),
              what + " is " + words + " " + std::to_string(number));
    };
    bound("min_val", "aten::ge", "less than");
    bound("max_val", "aten::le", "more than");
  }

  // Returns null if no argument gives the symbol directly.
  Value* compute(const Expression& expression) {
    using Kind = Expression::Kind;
    if (expression.kind == Kind::number) return builder_.constant(expression.number);
    if (expression.kind == Kind::symbol) {
      const auto known = symbols_.find(expression.symbol);
      return known == symbols_.end() ? nullptr : known->second.first;
    }
    const char* const op = expression.kind == Kind::sum       ? "aten::add"
                           : expression.kind == Kind::product ? "aten::mul"
                                                              : "aten::floordiv";
    Value* result = nullptr;
    for (const Expression& operand : expression.operands) {
      Value* const value = compute(operand);
      if (value == nullptr) return nullptr;
      result = result == nullptr ? value : builder_.call(op, {result, value});
    }
    return result;
  }

  Builder& builder_;
  const Json& ranges_;
  std::unordered_map<std::string, std::pair<Value*, std::string>> symbols_;
  std::vector<Derived> derived_;
};

}  // namespace sr::exported
