// The values of sizes in one call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sr/replay/sizes/expressions.hpp>
#include <sr/replay/sizes/size.hpp>

namespace sr::replay {

// Evaluates each expression once for each choice of symbols. Belongs to one program.
class SizeValues {
 public:
  // The values of the recorded call.
  SizeValues() = default;
  explicit SizeValues(std::shared_ptr<const SizeExpressions> expressions)
      : expressions_(std::move(expressions)), atoms_(expressions_->atoms().size()) {
    const std::size_t count = expressions_->polynomial_count();
    polynomials_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      polynomials_.emplace_back(line_of(expressions_->polynomial(static_cast<Size::Id>(i + 1))));
  }

  // Takes values for the symbols. Returns false if they do not satisfy the guards; then others must be given
  // before anything is evaluated.
  bool assign(std::span<const std::int64_t> symbols) {
    ++round_;
    overflows_ = false;
    for (std::size_t s = 0; s < symbols.size(); ++s) {
      if (!expressions_->ranges()[s].contains(symbols[s])) return false;
      atoms_[expressions_->symbols()[s]] = {symbols[s], round_};
    }
    for (const SizeGuard& guard : expressions_->guards()) {
      if (!holds(guard.kind, of_polynomial(guard.polynomial))) return false;
    }
    return !overflows_;
  }

  std::int64_t operator()(const Size& size) {
    return size.is_constant() || expressions_ == nullptr ? size.recorded() : of_polynomial(size.id());
  }
  std::size_t count(const Size& size) { return static_cast<std::size_t>((*this)(size)); }
  void fill(const Dims& sizes, Numbers& numbers) {
    numbers.resize(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) numbers[i] = (*this)(sizes[i]);
  }

  // True if a value since the last assignment does not fit into 64 bits. It counts as 0.
  bool overflows() const { return overflows_; }

 private:
  struct Known {
    std::int64_t value = 0;
    std::uint64_t round = 0;  // in which it was evaluated
  };

  // factor * atom + constant. Nearly all sizes, strides and offsets are: a call of other sizes evaluates
  // these without walking through terms.
  struct Line {
    std::int64_t factor = 0, constant = 0;
    AtomId atom = 0;
  };
  struct KnownPolynomial : Known {
    std::optional<Line> line;

    explicit KnownPolynomial(const std::optional<Line>& as_line) : line(as_line) {}
  };

  // Returns nullopt if the polynomial is not linear.
  static std::optional<Line> line_of(const Polynomial& polynomial) {
    Line line;
    for (const Term& term : polynomial) {
      if (term.atoms.empty()) {
        line.constant = term.factor;
      } else if (term.atoms.size() == 1 && line.factor == 0) {
        line.factor = term.factor;
        line.atom = term.atoms[0];
      } else {
        return std::nullopt;
      }
    }
    return line.factor == 0 ? std::nullopt : std::optional(line);
  }

  static bool holds(SizeGuard::Kind kind, std::int64_t value) {
    switch (kind) {
      case SizeGuard::Kind::zero:
        return value == 0;
      case SizeGuard::Kind::not_zero:
        return value != 0;
      case SizeGuard::Kind::not_negative:
        return value >= 0;
    }
    return false;
  }

  std::int64_t of_polynomial(Size::Id id) {
    KnownPolynomial& known = polynomials_[id - 1];
    if (known.round == round_) return known.value;
    known.value = known.line ? value_of(*known.line) : value_of(expressions_->polynomial(id));
    known.round = round_;
    return known.value;
  }

  std::int64_t value_of(const Line& line) {
    std::int64_t value = 0;
    if (__builtin_mul_overflow(line.factor, of_atom(line.atom), &value) ||
        __builtin_add_overflow(value, line.constant, &value)) [[unlikely]] {
      overflows_ = true;
      return 0;
    }
    return value;
  }

  std::int64_t value_of(const Polynomial& polynomial) {
    const auto value = evaluate(polynomial, [&](AtomId atom) { return of_atom(atom); });
    overflows_ |= !value;
    return value.value_or(0);
  }

  std::int64_t of_atom(AtomId id) {
    if (atoms_[id].round == round_) return atoms_[id].value;
    const Atom& atom = expressions_->atoms()[id];
    const std::int64_t left = value_of(atom.left), right = value_of(atom.right);
    const bool divides_by_zero = atom.kind != Atom::Kind::minimum && right == 0;  // after an overflow
    atoms_[id] = {divides_by_zero ? 0 : Atom::value_of(atom.kind, left, right), round_};
    return atoms_[id].value;
  }

  std::shared_ptr<const SizeExpressions> expressions_;  // null: those of the recorded call
  std::vector<Known> atoms_;
  std::vector<KnownPolynomial> polynomials_;
  std::uint64_t round_ = 0;
  bool overflows_ = false;
};

}  // namespace sr::replay
