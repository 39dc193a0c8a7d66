// Signatures of families: calls that differ in sizes only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/trace/signature.hpp>

namespace sr::replay {

// The words of a signature, of which some are symbols or follow from them.
struct FamilySignature {
  std::shared_ptr<SizeExpressions> expressions = std::make_shared<SizeExpressions>();
  std::vector<Size> words;
  std::vector<std::size_t> symbol_at;  // by symbol: the first word that it is
  // True if the program must serve all sizes. A convolution, whose kernel needs constant sizes, then calls
  // LibTorch.
  bool keeps_sizes_open = false;

  // The values that the symbols have in a call; nothing if it is no call of the family, whatever its sizes.
  // The words that follow from symbols are not compared, nor are guards.
  bool read(const SignatureWords& call, std::vector<std::int64_t>& symbols) const {
    if (call.size() != words.size()) return false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].is_constant() && words[i].recorded() != call[i]) return false;
    }
    symbols.clear();
    for (const std::size_t at : symbol_at) symbols.push_back(call[at]);
    return true;
  }
};

namespace detail {

// Visits the words of one value, and moves `at` behind them; see each_word.
template <class Fixed, class Number, class Strides>
void each_word_of_value(const SignatureWords& words, std::size_t& at, const Fixed& fixed,
                        const Number& number, const Strides& strides) {
  const std::int64_t first = words[at];
  fixed(at++);
  switch (static_cast<Tag>(first & 0xFF)) {
    case Tag::tensor: {
      const auto rank = static_cast<std::size_t>(words[at + 1]);
      fixed(at);
      fixed(at + 1);
      at += 2;
      for (std::size_t d = 0; d < rank; ++d) number(at + d);
      strides(at, rank);
      at += 2 * rank;
      break;
    }
    case Tag::integer:
      number(at++);
      break;
    case Tag::real:
      fixed(at++);
      break;
    case Tag::string:
      for (std::int64_t i = ((first >> kCountAt) + 7) / 8; i-- > 0;) fixed(at++);
      break;
    default:
      break;
  }
}

// Visits the words of a described call: fixed(at) for words that say what there is, size(at) for integers and
// for sizes of tensors, strides(first size, rank) once for each tensor. The elements of a container follow it
// as separate values.
template <class Fixed, class Number, class Strides>
void each_word(const SignatureWords& words, const Fixed& fixed, const Number& number,
               const Strides& strides) {
  fixed(0);
  fixed(1);
  for (std::size_t at = 2; at < words.size();) each_word_of_value(words, at, fixed, number, strides);
}

// The dimensions of a tensor from the innermost to the outermost in memory.
inline std::vector<std::size_t> stride_order(const SignatureWords& words, std::size_t first,
                                             std::size_t rank) {
  std::vector<std::size_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const std::int64_t left = words[first + rank + a], right = words[first + rank + b];
    return left != right ? left < right : a > b;
  });
  return order;
}

}  // namespace detail

// A hash of what calls of a family have in common. Calls of one family have equal ones.
inline std::uint64_t skeleton_of(const SignatureWords& words) {
  SignatureWords fixed;
  detail::each_word(
      words, [&](std::size_t at) { fixed.push_back(at == 1 ? detail::argument_count(words) : words[at]); },
      [](std::size_t) {}, [](std::size_t, std::size_t) {});
  return hash_of(fixed);
}

// The family of two calls of the same skeleton: integers and sizes that differ between them become symbols,
// one symbol if they are equal in both calls. The recorded values are those of `now`. Nothing if a word that
// differs cannot be a symbol.
class FamilyMaker {
 public:
  FamilyMaker(const SignatureWords& before, const SignatureWords& now) : before_(before), now_(now) {}

  std::optional<FamilySignature> make() {
    if (before_.size() != now_.size()) return std::nullopt;
    const SizeScope scope(*family_.expressions);
    family_.words.assign(now_.begin(), now_.end());
    detail::each_word(
        now_,
        [&](std::size_t at) {
          fits_ &= at == 1 ? detail::argument_count(before_) == detail::argument_count(now_)
                           : before_[at] == now_[at];
        },
        [&](std::size_t at) { set_number(at); },
        [&](std::size_t first, std::size_t rank) { set_strides(first, rank); });
    if (!fits_ || family_.symbol_at.empty()) return std::nullopt;
    family_.words[1] = detail::argument_count(now_);
    return std::move(family_);
  }

 private:
  bool differs(std::size_t at) const { return before_[at] != now_[at]; }

  void set_number(std::size_t at) {
    if (!differs(at)) return;
    if (now_[at] < SizeExpressions::kLeast || now_[at] > SizeExpressions::kMost) {
      fits_ = false;
      return;
    }
    const auto [known, is_new] = symbols_.try_emplace({before_[at], now_[at]});
    if (is_new) {
      known->second = family_.expressions->add_symbol(now_[at]);
      family_.symbol_at.push_back(at);
    }
    family_.words[at] = known->second;
  }

  // Strides that are dense in some order of the dimensions follow from the sizes.
  void set_strides(std::size_t first, std::size_t rank) {
    if (!fits_) return;
    Size dense = 1;
    std::int64_t dense_before = 1;
    for (const std::size_t d : detail::stride_order(now_, first, rank)) {
      const std::size_t at = first + rank + d;
      if (differs(at)) {
        if (now_[at] == dense.recorded() && before_[at] == dense_before) {
          family_.words[at] = dense;
        } else {
          set_number(at);
        }
      }
      dense *= family_.words[first + d];
      dense_before *= before_[first + d];
    }
  }

  const SignatureWords &before_, &now_;
  FamilySignature family_;
  std::map<std::pair<std::int64_t, std::int64_t>, Size> symbols_;
  bool fits_ = true;
};

}  // namespace sr::replay
