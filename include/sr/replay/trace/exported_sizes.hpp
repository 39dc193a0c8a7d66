// Sizes of arguments that vary as torch.export was told (Dim); types in the schema have symbols for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <sr/replay/trace/family_signature.hpp>

namespace sr::replay {

class ExportedSizes {
 public:
  explicit ExportedSizes(const std::vector<c10::Argument>& arguments) {
    bool any = false;
    for (const c10::Argument& argument : arguments) {
      std::vector<std::optional<std::int64_t>>& symbols = symbols_.emplace_back();
      const auto type = argument.type()->cast<c10::TensorType>();
      const auto sizes = type != nullptr ? type->symbolic_sizes().sizes() : std::nullopt;
      if (!sizes) continue;
      for (const c10::ShapeSymbol& size : *sizes) {
        symbols.push_back(size.is_static() ? std::nullopt : std::optional(size.value()));
        any |= symbols.back().has_value();
      }
    }
    if (!any) symbols_.clear();
  }

  // The family of a described call, with a symbol for each that the program has. Nothing if it has none, or
  // if their sizes are 0 or 1 in this call.
  std::optional<FamilySignature> family_of(const SignatureWords& words) const {
    if (symbols_.empty()) return std::nullopt;
    // The words of a second call, in which every symbol has another value.
    SignatureWords other = words;
    std::map<std::int64_t, std::int64_t> distances;
    std::size_t at = 2;
    const auto ignore = [](std::size_t, std::size_t = 0) {};
    for (const auto& symbols : symbols_) {  // exported programs have no containers among their arguments
      detail::each_word_of_value(words, at, ignore, ignore, [&](std::size_t first, std::size_t rank) {
        if (rank == symbols.size()) vary(other, first, symbols, distances);
      });
    }
    return FamilyMaker(other, words).make();
  }

 private:
  // `first` is the position of the first size; strides follow the sizes.
  static void vary(SignatureWords& words, std::size_t first,
                   const std::vector<std::optional<std::int64_t>>& symbols,
                   std::map<std::int64_t, std::int64_t>& distances) {
    const std::size_t rank = symbols.size();
    const std::vector<std::size_t> order = detail::stride_order(words, first, rank);
    std::vector<bool> is_dense(rank);
    std::int64_t dense = 1;
    for (const std::size_t d : order) {
      is_dense[d] = words[first + rank + d] == dense;
      dense *= words[first + d];
    }
    for (std::size_t d = 0; d < rank; ++d) {
      if (!symbols[d] || words[first + d] < SizeExpressions::kLeast) continue;
      const auto known = distances.try_emplace(*symbols[d], static_cast<std::int64_t>(distances.size()) + 1);
      words[first + d] += known.first->second;
    }
    dense = 1;
    for (const std::size_t d : order) {
      if (is_dense[d]) words[first + rank + d] = dense;
      dense *= words[first + d];
    }
  }

  std::vector<std::vector<std::optional<std::int64_t>>> symbols_;  // by argument and dimension
};

}  // namespace sr::replay
