// The size expressions of an exported program, as sympy's srepr writes them:
// Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sr::exported {

struct Expression {
  enum class Kind { number, symbol, sum, product, floor_division };
  Kind kind = Kind::number;
  std::int64_t number = 0;
  std::string symbol;
  std::vector<Expression> operands;
};

namespace detail {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : rest_(text) {}

  std::optional<Expression> whole() {
    std::optional<Expression> parsed = expression(0);
    if (!rest_.empty()) return std::nullopt;
    return parsed;
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::optional<Expression> expression(int depth) {
    if (depth > 50) return std::nullopt;
    if (take("Integer(")) return number();
    if (take("Symbol('")) return symbol();
    using Kind = Expression::Kind;
    for (const auto& [name, kind] :
         {std::pair{"Add(", Kind::sum}, {"Mul(", Kind::product}, {"FloorDiv(", Kind::floor_division}}) {
      if (!take(name)) continue;
      Expression made{.kind = kind, .number = 0, .symbol = {}, .operands = {}};
      do {
        std::optional<Expression> operand = expression(depth + 1);
        if (!operand) return std::nullopt;
        made.operands.push_back(std::move(*operand));
      } while (take(", "));
      if (!take(")")) return std::nullopt;
      return made;
    }
    return std::nullopt;
  }

  std::optional<Expression> number() {
    const auto end = rest_.find(')');
    if (end == 0 || end > 18) return std::nullopt;
    Expression made;
    const bool negative = take("-");
    while (!rest_.starts_with(')')) {
      if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return std::nullopt;
      made.number = made.number * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (negative) made.number = -made.number;
    take(")");
    return made;
  }

  std::optional<Expression> symbol() {
    const auto quote = rest_.find('\''), end = rest_.find(')');
    if (quote == std::string_view::npos || end == std::string_view::npos || end < quote) return std::nullopt;
    Expression made{.kind = Expression::Kind::symbol,
                    .number = 0,
                    .symbol = std::string(rest_.substr(0, quote)),
                    .operands = {}};
    rest_.remove_prefix(end + 1);
    return made;
  }

  std::string_view rest_;
};

}  // namespace detail

// Returns nullopt if the expression has an unknown part.
inline std::optional<Expression> parse_expression(std::string_view text) {
  return detail::ExpressionParser(text).whole();
}

}  // namespace sr::exported
