// Polynomials with integer factors: exact arithmetic, evaluation, bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace sr::replay {

using AtomId = std::uint32_t;  // of a variable of polynomials

// A product of atoms with an integer factor. Without atoms it is a constant.
struct Term {
  std::vector<AtomId> atoms;  // ascending, with repetitions
  std::int64_t factor = 0;

  friend bool operator==(const Term&, const Term&) = default;
  friend bool operator<(const Term& a, const Term& b) {
    return std::tie(a.atoms, a.factor) < std::tie(b.atoms, b.factor);
  }
};

// A sum of terms in the order of their atoms, each of which occurs once and with a factor that is not 0: two
// polynomials are equal if and only if their terms are. No terms: 0.
using Polynomial = std::vector<Term>;

inline std::optional<std::int64_t> checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
inline std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}
// Rounded down.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

namespace detail {

// Collects terms. Becomes nothing when a factor overflows.
class TermSum {
 public:
  void add(const std::vector<AtomId>& atoms, std::optional<std::int64_t> factor) {
    std::int64_t& sum = factors_[atoms];
    const auto total = factor ? checked_sum(sum, *factor) : std::nullopt;
    overflows_ |= !total;
    sum = total.value_or(0);
  }
  std::optional<Polynomial> polynomial() const {
    if (overflows_) return std::nullopt;
    Polynomial made;
    for (const auto& [atoms, factor] : factors_) {
      if (factor != 0) made.push_back({atoms, factor});
    }
    return made;
  }

 private:
  std::map<std::vector<AtomId>, std::int64_t> factors_;
  bool overflows_ = false;
};

}  // namespace detail

// a + factor * b; nothing if a factor of it overflows.
inline std::optional<Polynomial> add_polynomials(const Polynomial& a, const Polynomial& b,
                                                 std::int64_t factor) {
  detail::TermSum sum;
  for (const Term& term : a) sum.add(term.atoms, term.factor);
  for (const Term& term : b) sum.add(term.atoms, checked_product(term.factor, factor));
  return sum.polynomial();
}

inline std::optional<Polynomial> multiply_polynomials(const Polynomial& a, const Polynomial& b) {
  detail::TermSum sum;
  for (const Term& left : a) {
    for (const Term& right : b) {
      std::vector<AtomId> atoms;
      std::ranges::merge(left.atoms, right.atoms, std::back_inserter(atoms));
      sum.add(atoms, checked_product(left.factor, right.factor));
    }
  }
  return sum.polynomial();
}

// a / b, if each term of a can be divided by b.
inline std::optional<Polynomial> divide_by_term(const Polynomial& a, const Term& b) {
  Polynomial quotient;
  for (const Term& term : a) {
    if (term.factor % b.factor != 0 || !std::ranges::includes(term.atoms, b.atoms)) return std::nullopt;
    Term& made = quotient.emplace_back();
    made.factor = term.factor / b.factor;
    std::ranges::set_difference(term.atoms, b.atoms, std::back_inserter(made.atoms));
  }
  std::sort(quotient.begin(), quotient.end());
  return quotient;
}

// The value for value_of(atom); nothing if it overflows.
template <class ValueOf>
std::optional<std::int64_t> evaluate(const Polynomial& polynomial, const ValueOf& value_of) {
  std::int64_t sum = 0;
  for (const Term& term : polynomial) {
    std::int64_t product = term.factor;
    for (const AtomId atom : term.atoms) {
      if (__builtin_mul_overflow(product, static_cast<std::int64_t>(value_of(atom)), &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

// The one atom that occurs; nothing if it is none or more.
inline std::optional<AtomId> only_atom(const Polynomial& polynomial) {
  std::optional<AtomId> only;
  for (const Term& term : polynomial) {
    for (const AtomId atom : term.atoms) {
      if (only && *only != atom) return std::nullopt;
      only = atom;
    }
  }
  return only;
}

// True if the value only grows, or only falls, with atoms that are positive. It grows if the factor of the
// last term is positive.
inline bool is_monotone(const Polynomial& polynomial) {
  return std::ranges::all_of(polynomial, [&](const Term& term) {
    return term.atoms.empty() || (term.factor > 0) == (polynomial.back().factor > 0);
  });
}

// The first value from `first` to `last` for which `holds`, which must then hold for all later ones; `last`
// if there is none before it.
template <class Holds>
std::int64_t first_where(std::int64_t first, std::int64_t last, const Holds& holds) {
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    if (holds(middle)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

// Bounds of a value, both included. A bound at kFar or beyond says nothing.
struct Interval {
  static constexpr std::int64_t kFar = std::int64_t{1} << 62;
  std::int64_t least = -kFar, most = kFar;

  friend Interval operator+(const Interval& a, const Interval& b) {
    return {a.least <= -kFar || b.least <= -kFar ? -kFar : near(checked_sum(a.least, b.least), a.least),
            a.most >= kFar || b.most >= kFar ? kFar : near(checked_sum(a.most, b.most), a.most)};
  }
  friend Interval operator*(const Interval& a, const Interval& b) {
    const auto product = [](std::int64_t x, std::int64_t y) {
      return near(checked_product(x, y), (x < 0) == (y < 0) ? 1 : -1);
    };
    const auto [smallest, largest] = std::minmax({product(a.least, b.least), product(a.least, b.most),
                                                  product(a.most, b.least), product(a.most, b.most)});
    return {smallest, largest};
  }

 private:
  // The value, or kFar with this sign where it overflows or is farther.
  static std::int64_t near(std::optional<std::int64_t> value, std::int64_t sign) {
    return value ? std::clamp(*value, -kFar, kFar) : sign < 0 ? -kFar : kFar;
  }
};

// Bounds of the value, given bounds_of_atom(atom).
template <class BoundsOfAtom>
Interval bounds_of(const Polynomial& polynomial, const BoundsOfAtom& bounds_of_atom) {
  Interval sum{0, 0};
  for (const Term& term : polynomial) {
    Interval product{term.factor, term.factor};
    for (const AtomId atom : term.atoms) product = product * bounds_of_atom(atom);
    sum = sum + product;
  }
  return sum;
}

}  // namespace sr::replay
