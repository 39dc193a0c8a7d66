// Expressions in symbols, and the conditions on symbols under which a recording holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/base/error.hpp>
#include <sr/replay/sizes/polynomial.hpp>
#include <sr/replay/sizes/size.hpp>

namespace sr::replay {

// What polynomials are made of: symbols, and operations that are none of a polynomial.
struct Atom {
  enum class Kind : std::uint8_t { symbol, quotient, remainder, minimum };
  Kind kind = Kind::symbol;
  Polynomial left, right;  // what it is computed from; empty for a symbol

  // The value of such an atom, whose operands have these values.
  static std::int64_t value_of(Kind kind, std::int64_t left, std::int64_t right) {
    switch (kind) {
      case Kind::quotient:
        return floor_divide(left, right);
      case Kind::remainder:
        return left - right * floor_divide(left, right);
      default:
        return std::min(left, right);
    }
  }
  static Interval bounds_of(Kind kind, const Interval& left, const Interval& right) {
    if (kind == Kind::minimum) return {std::min(left.least, right.least), std::min(left.most, right.most)};
    if (left.least < 0 || right.least < 1) return {};
    if (kind == Kind::remainder) return {0, right.most - 1};
    return {left.least / right.most, left.most / right.least};
  }

  friend bool operator==(const Atom&, const Atom&) = default;
  friend bool operator<(const Atom& a, const Atom& b) {
    return std::tie(a.kind, a.left, a.right) < std::tie(b.kind, b.left, b.right);
  }
};

// A condition on a polynomial.
struct SizeGuard {
  enum class Kind : std::uint8_t { zero, not_zero, not_negative };
  Kind kind = Kind::zero;
  Size::Id polynomial = 0;
};

// The values of one symbol for which a recording holds.
struct SymbolRange {
  std::int64_t least = 0, most = 0;
  std::vector<std::int64_t> holes;  // between them

  bool contains(std::int64_t value) const {
    return least <= value && value <= most && std::ranges::find(holes, value) == holes.end();
  }
};

// Belongs to one recording, and later to its program, which only reads it.
class SizeExpressions {
 public:
  // Values from which on a size can be a symbol: sizes 0 and 1 are constants, so that no symbol is a
  // dimension that is broadcast or empty.
  static constexpr std::int64_t kLeast = 2;
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

  // Adds a symbol. `recorded` must be between kLeast and kMost.
  Size add_symbol(std::int64_t recorded) {
    const auto atom = static_cast<AtomId>(atoms_.size());
    atoms_.push_back({Atom::Kind::symbol, {}, {}});
    recorded_.push_back(recorded);
    ranges_.push_back({kLeast, kMost, {}});
    symbols_.push_back(atom);
    range_of_.resize(atoms_.size(), kNoSymbol);
    range_of_[atom] = ranges_.size() - 1;
    return size_of({{{atom}, 1}});
  }

  // Tells which operator the following decisions are made for. `name` must outlive the expressions.
  void decide_for(const char* name) { deciding_ = name; }
  // The name of the first operator that pinned a symbol; empty if no symbol is pinned.
  const std::string& pinned_by() const { return pinned_by_; }

  const std::vector<SymbolRange>& ranges() const { return ranges_; }  // by symbol
  const std::vector<SizeGuard>& guards() const { return guards_; }    // beside the ranges
  const std::vector<Atom>& atoms() const { return atoms_; }           // operands before what is made of them
  const std::vector<AtomId>& symbols() const { return symbols_; }
  const Polynomial& polynomial(Size::Id id) const { return polynomials_[id - 1]; }
  std::size_t polynomial_count() const { return polynomials_.size(); }

  // --- arithmetic, for Size ---

  Size add(const Size& a, const Size& b, std::int64_t factor) {
    const auto sum = add_polynomials(terms_of(a), terms_of(b), factor);
    return sum ? size_of(*sum) : Size(a.pin() + factor * b.pin());
  }
  Size multiply(const Size& a, const Size& b) {
    const auto product = multiply_polynomials(terms_of(a), terms_of(b));
    return product ? size_of(*product) : Size(a.pin() * b.pin());
  }
  Size divide(const Size& a, const Size& b) {
    if (const auto exact = divide_exactly(a, b)) return size_of(*exact);
    return size_of({{{atom({Atom::Kind::quotient, terms_of(a), terms_of(b)})}, 1}});
  }
  Size remainder(const Size& a, const Size& b) {
    if (divide_exactly(a, b)) return 0;
    return size_of({{{atom({Atom::Kind::remainder, terms_of(a), terms_of(b)})}, 1}});
  }
  Size smaller(const Size& a, const Size& b) {
    const Size difference = a - b;
    const Interval range = bounds(terms_of(difference));
    if (range.most <= 0) return a;
    if (range.least >= 0) return b;
    return size_of({{{atom({Atom::Kind::minimum, terms_of(a), terms_of(b)})}, 1}});
  }

  // --- decisions, for Size ---

  bool is_zero(const Size& value) {
    if (value.is_constant()) return value.recorded() == 0;
    const Interval range = bounds(terms_of(value));
    if (range.least > 0 || range.most < 0) return false;
    if (value.recorded() == 0) {
      note(SizeGuard::Kind::zero, value);
    } else {
      note(SizeGuard::Kind::not_zero, value);
    }
    return value.recorded() == 0;
  }
  bool is_negative(const Size& value) {
    if (value.is_constant()) return value.recorded() < 0;
    const Interval range = bounds(terms_of(value));
    if (range.least >= 0) return false;
    if (range.most < 0) return true;
    note(SizeGuard::Kind::not_negative, value.recorded() < 0 ? -value - 1 : value);
    return value.recorded() < 0;
  }

  // "50*s0 + 3"
  std::string text_of(const Size& size) const {
    return size.is_constant() ? std::to_string(size.recorded()) : text_of(polynomial(size.id()));
  }
  std::string text_of(const SizeGuard& guard) const {
    static constexpr const char* kConditions[] = {" == 0", " != 0", " >= 0"};
    return text_of(polynomial(guard.polynomial)) + kConditions[static_cast<std::size_t>(guard.kind)];
  }

 private:
  static constexpr std::size_t kNoSymbol = static_cast<std::size_t>(-1);

  Polynomial terms_of(const Size& size) const {
    if (!size.is_constant()) return polynomial(size.id());
    return size.recorded() == 0 ? Polynomial{} : Polynomial{{{}, size.recorded()}};
  }

  Size size_of(const Polynomial& polynomial) {
    if (polynomial.empty()) return 0;
    if (polynomial.size() == 1 && polynomial[0].atoms.empty()) return polynomial[0].factor;
    const std::int64_t value = recorded_value(polynomial);
    const auto [known, is_new] = ids_.try_emplace(polynomial, static_cast<Size::Id>(polynomials_.size() + 1));
    if (is_new) polynomials_.push_back(polynomial);
    return {value, known->second};
  }

  std::int64_t recorded_value(const Polynomial& polynomial) const {
    return evaluate(polynomial, [&](AtomId atom) { return recorded_[atom]; }).value_or(0);
  }

  AtomId atom(Atom made) {
    const auto [known, is_new] = atom_ids_.try_emplace(made, static_cast<AtomId>(atoms_.size()));
    if (!is_new) return known->second;
    recorded_.push_back(Atom::value_of(made.kind, recorded_value(made.left), recorded_value(made.right)));
    atoms_.push_back(std::move(made));
    range_of_.resize(atoms_.size(), kNoSymbol);
    return known->second;
  }

  // The quotient if there is never a remainder. Throws InternalError if the divisor is 0.
  std::optional<Polynomial> divide_exactly(const Size& a, const Size& b) {
    if (is_zero(b)) throw InternalError("A size was divided by zero.");
    const Polynomial divisor = terms_of(b);
    return divisor.size() == 1 ? divide_by_term(terms_of(a), divisor[0]) : std::nullopt;
  }

  Interval bounds(const Polynomial& polynomial) const {
    return sr::replay::bounds_of(polynomial, [&](AtomId id) {
      if (range_of_[id] != kNoSymbol)
        return Interval{ranges_[range_of_[id]].least, ranges_[range_of_[id]].most};
      const Atom& atom = atoms_[id];
      return Atom::bounds_of(atom.kind, bounds(atom.left), bounds(atom.right));
    });
  }

  void note(SizeGuard::Kind kind, const Size& value) {
    if (narrow(kind, polynomial(value.id()))) return;
    const bool is_known = std::ranges::any_of(guards_, [&](const SizeGuard& guard) {
      return guard.kind == kind && guard.polynomial == value.id();
    });
    if (!is_known) guards_.push_back({kind, value.id()});
  }

  // Turns a condition on one symbol into a part of its range. Returns false if it is none.
  bool narrow(SizeGuard::Kind kind, const Polynomial& polynomial) {
    const std::optional<AtomId> only = only_atom(polynomial);
    if (!only || range_of_[*only] == kNoSymbol || !is_monotone(polynomial)) return false;
    SymbolRange& range = ranges_[range_of_[*only]];
    const std::int64_t recorded = recorded_[*only];
    const auto at = [&](std::int64_t value) { return evaluate(polynomial, [&](AtomId) { return value; }); };
    if (kind == SizeGuard::Kind::zero) {
      range.least = range.most = recorded;
      if (pinned_by_.empty()) pinned_by_ = deciding_;
      return true;
    }
    const bool grows = polynomial.back().factor > 0;
    if (kind == SizeGuard::Kind::not_zero) {  // monotone: there is at most one value to leave out
      const std::int64_t border = first_where(range.least, range.most, [&](std::int64_t value) {
        const auto result = at(value);
        return !result || (grows ? *result >= 0 : *result <= 0);
      });
      if (at(border) == 0) range.holes.push_back(border);
      return true;
    }
    // Where it overflows the evaluation of a call refuses it, so that an overflow may count as either.
    if (grows) {
      range.least =
          first_where(range.least, recorded, [&](std::int64_t value) { return at(value).value_or(0) >= 0; });
    } else {
      range.most =
          first_where(recorded, range.most, [&](std::int64_t value) { return at(value).value_or(-1) < 0; });
      if (at(range.most).value_or(-1) < 0) --range.most;
    }
    return true;
  }

  std::string text_of(const Polynomial& polynomial) const {
    std::string text;
    for (auto term = polynomial.rbegin(); term != polynomial.rend(); ++term) {
      const std::uint64_t magnitude = term->factor < 0 ? 0 - static_cast<std::uint64_t>(term->factor)
                                                       : static_cast<std::uint64_t>(term->factor);
      if (text.empty()) {
        text += term->factor < 0 ? "-" : "";
      } else {
        text += term->factor < 0 ? " - " : " + ";
      }
      const bool has_number = magnitude != 1 || term->atoms.empty();
      if (has_number) text += std::to_string(magnitude);
      for (std::size_t i = 0; i < term->atoms.size(); ++i)
        text += (i == 0 && !has_number ? "" : "*") + text_of_atom(term->atoms[i]);
    }
    return text.empty() ? "0" : text;
  }

  std::string text_of_atom(AtomId id) const {
    if (range_of_[id] != kNoSymbol) return "s" + std::to_string(range_of_[id]);
    const Atom& atom = atoms_[id];
    if (atom.kind == Atom::Kind::minimum)
      return "min(" + text_of(atom.left) + ", " + text_of(atom.right) + ")";
    const auto operand = [&](const Polynomial& of) {
      return of.size() > 1 ? "(" + text_of(of) + ")" : text_of(of);
    };
    return "(" + operand(atom.left) + (atom.kind == Atom::Kind::quotient ? " // " : " % ") +
           operand(atom.right) + ")";
  }

  std::vector<Atom> atoms_;
  std::vector<std::int64_t> recorded_;  // by atom: its value in the recorded call
  std::vector<std::size_t> range_of_;   // by atom: of a symbol, which one
  std::vector<AtomId> symbols_;
  std::vector<SymbolRange> ranges_;
  std::vector<Polynomial> polynomials_;  // by Size::Id - 1
  std::map<Polynomial, Size::Id> ids_;
  std::map<Atom, AtomId> atom_ids_;
  std::vector<SizeGuard> guards_;
  const char* deciding_ = "";
  std::string pinned_by_;
};

}  // namespace sr::replay
