// Draws arguments for any operator from its schema: tensors of 0 to 6 dimensions of sizes 0, 1 and 2, and
// numbers, lists and texts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace sr::test {

using Random = std::mt19937;

inline std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

// Draws the arguments of one call. Most tensors get the same sizes, since most operators need tensors that
// broadcast.
class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random), common_(sizes(below(random, 7))) {}

  at::Tensor tensor(const std::string& name) {
    const std::size_t chance = below(random_, 10);
    std::vector<std::int64_t> drawn = common_;
    if (chance >= 6) drawn = sizes(below(random_, 7));
    if (chance == 5 && !drawn.empty()) drawn.pop_back();
    if (chance == 4) drawn = {common_.size() > 1 ? common_[1] : std::int64_t{1}};  // as norms take weights
    at::Tensor made = at::rand(drawn).add_(0.25);
    const bool is_index = name.find("ind") != name.npos || name == "offsets" || name == "repeats" ||
                          name.find("bound") != name.npos;
    if (is_index && below(random_, 8) != 0) return at::zeros(drawn, at::kLong);
    if ((name == "mask" || name == "condition") && below(random_, 8) != 0) return made > 0.7;
    switch (below(random_, 12)) {
      case 0:
        return made.to(at::kDouble);
      case 1:
        return (made * 3).to(at::kLong);
      case 2:
        return made > 0.7;
      case 3:
        return made.to(at::kBFloat16);
      case 4:
        return drawn.size() > 1 ? made.transpose(0, static_cast<std::int64_t>(drawn.size()) - 1) : made;
      default:
        return made;
    }
  }

  // Draws an argument of this type. Arguments that LibTorch does not validate, and the probability of
  // dropout, get fixed values.
  c10::IValue value(const c10::TypePtr& type, const std::string& name) {
    if (name == "layout") return {};
    if (name == "dropout_p") return 0.0;
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        return tensor(name);
      case c10::TypeKind::OptionalType:
        return below(random_, 2) == 0 ? c10::IValue() : value(type->containedType(0), name);
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return integer(name);
      case c10::TypeKind::NumberType:
        return below(random_, 2) == 0 ? c10::IValue(integer(name)) : c10::IValue(0.5);
      case c10::TypeKind::FloatType:
        return 0.5;
      case c10::TypeKind::BoolType:
        return below(random_, 2) == 0;
      case c10::TypeKind::StringType: {
        static const std::vector<std::string> texts{"none",     "mean",    "sum",  "floor",
                                                    "constant", "reflect", "same", "ij"};
        return texts[below(random_, texts.size())];
      }
      case c10::TypeKind::ListType:
        return list(type->containedType(0), name);
      default:
        return {};
    }
  }

 private:
  std::vector<std::int64_t> sizes(std::size_t rank) {
    std::vector<std::int64_t> drawn(rank);
    for (std::int64_t& size : drawn)
      size = static_cast<std::int64_t>(std::min<std::size_t>(below(random_, 5), 2));
    if (below(random_, 3) != 0) std::ranges::replace(drawn, 0, 2);
    return drawn;
  }

  std::int64_t integer(const std::string& name) {
    if (name.ends_with("dtype")) {
      static const c10::ScalarType dtypes[] = {at::kFloat, at::kDouble, at::kLong, at::kBool, at::kBFloat16};
      return static_cast<std::int64_t>(dtypes[below(random_, std::size(dtypes))]);
    }
    if (name == "interpolation_mode" || name == "padding_mode")
      return static_cast<std::int64_t>(below(random_, 2));
    if (name == "memory_format") return static_cast<std::int64_t>(below(random_, 3));
    if (name == "dim" || name.starts_with("dim")) return static_cast<std::int64_t>(below(random_, 4)) - 2;
    return static_cast<std::int64_t>(below(random_, 4)) - (below(random_, 6) == 0 ? 1 : 0);
  }

  c10::IValue list(const c10::TypePtr& element, const std::string& name) {
    const std::size_t count = below(random_, 2) == 0 ? below(random_, 4) : common_.size();
    if (element->kind() == c10::TypeKind::TensorType) {
      c10::List<at::Tensor> tensors;
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) tensors.push_back(tensor(name));
      return tensors;
    }
    if (element->kind() == c10::TypeKind::IntType || element->kind() == c10::TypeKind::SymIntType) {
      std::vector<std::int64_t> numbers;
      for (std::size_t i = 0; i < count; ++i) numbers.push_back(integer(name));
      if (name.find("size") != name.npos || name.find("shape") != name.npos) {
        if (below(random_, 2) == 0) return common_;
      }
      return numbers;
    }
    if (element->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> tensors;
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) {
        tensors.push_back(
            below(random_, 4) == 0
                ? std::optional<at::Tensor>()
                : std::optional(at::zeros({static_cast<std::int64_t>(below(random_, 3))}, at::kLong)));
      }
      return tensors;
    }
    return {};
  }

  Random& random_;
  std::vector<std::int64_t> common_;
};

}  // namespace sr::test
