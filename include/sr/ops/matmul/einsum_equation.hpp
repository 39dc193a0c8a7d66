// The equation of an einsum as a label for each dimension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <sr/replay/sizes/size.hpp>

namespace sr::replay {

// Dimensions with the same label have the same size. Letters are labels, and so are the dimensions of an
// ellipsis, counted from the right.
using Labels = std::vector<int>;

inline bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}
// Those of `labels` for which `matches` is true, in order.
template <class Matches>
Labels those(const Labels& labels, const Matches& matches) {
  Labels found;
  std::ranges::copy_if(labels, std::back_inserter(found), matches);
  return found;
}

// A TensorLayout or an Operand with the dimensions `to`. One that it does not have gets size 1, and one that
// is not among them is left out.
template <class Tensor>
Tensor arranged(Tensor tensor, const Labels& from, const Labels& to) {
  const Dims sizes = std::move(tensor.sizes), strides = std::move(tensor.strides);
  tensor.sizes = Dims(to.size(), 1);
  tensor.strides = Dims(to.size(), 0);
  for (std::size_t d = 0; d < to.size(); ++d) {
    const auto at = std::ranges::find(from, to[d]);
    if (at == from.end()) continue;
    tensor.sizes[d] = sizes[static_cast<std::size_t>(at - from.begin())];
    tensor.strides[d] = strides[static_cast<std::size_t>(at - from.begin())];
  }
  return tensor;
}

struct EinsumEquation {
  std::vector<Labels> operands;
  Labels result;
};

namespace detail {

// The labels of one operand or of the result, in which an ellipsis stands for `hidden` dimensions.
inline Labels labels_of(std::string_view term, std::size_t hidden) {
  constexpr int kHidden = 256;  // behind all letters
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term[i] != '.') {
      labels.push_back(static_cast<unsigned char>(term[i]));
      continue;
    }
    for (std::size_t left = hidden; left-- > 0;) labels.push_back(kHidden + static_cast<int>(left));
    i = term.find_last_of('.');
  }
  return labels;
}

inline bool is_repeating(Labels labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

}  // namespace detail

// Parses an equation that torch.einsum has accepted for operands of these ranks. Returns nothing if an
// operand repeats a label, as in 'ii->i', which reads its diagonal.
inline std::optional<EinsumEquation> read_einsum(std::string_view text,
                                                 const std::vector<std::size_t>& ranks) {
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  EinsumEquation equation;
  std::size_t most_hidden = 0;
  for (const std::size_t rank : ranks) {
    const std::size_t comma = left.find(',');
    const std::string_view term = left.substr(0, comma);
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    const std::size_t named = detail::labels_of(term, 0).size();
    if (named > rank) return std::nullopt;
    if (term.find('.') != std::string_view::npos) most_hidden = std::max(most_hidden, rank - named);
    equation.operands.push_back(detail::labels_of(term, rank - named));
    if (equation.operands.back().size() != rank || detail::is_repeating(equation.operands.back()))
      return std::nullopt;
  }
  if (arrow != std::string_view::npos) {
    equation.result = detail::labels_of(text.substr(arrow + 2), most_hidden);
    return equation;
  }
  // Without an arrow: the dimensions of the ellipsis, then the letters that occur once, in alphabetical
  // order.
  Labels letters;
  for (const Labels& labels : equation.operands) letters.insert(letters.end(), labels.begin(), labels.end());
  std::ranges::sort(letters);
  equation.result = detail::labels_of("...", most_hidden);
  for (const int label : letters) {
    if (label < 256 && std::ranges::count(letters, label) == 1) equation.result.push_back(label);
  }
  return equation;
}

}  // namespace sr::replay
