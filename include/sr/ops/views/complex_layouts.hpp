// Rules for views that change the element size: view_as_complex, view_as_real and view(dtype).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <c10/core/ScalarType.h>

#include <sr/ops/views/layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// Returns the layout of the first input when `parts` adjacent elements of its last dimension become one
// element. Returns nullopt where LibTorch refuses such a view.
inline std::optional<TensorLayout> in_larger_elements(LayoutRule& rule, std::int64_t parts) {
  TensorLayout layout = rule.tensor(0);
  if (layout.sizes.empty() || !require(layout.sizes.back() % parts == 0) ||
      !require(layout.strides.back() == 1) || !require(layout.offset % parts == 0))
    return std::nullopt;
  layout.sizes.back() = layout.sizes.back() / parts;
  for (std::size_t d = 0; d + 1 < layout.strides.size(); ++d) {
    if (!require(layout.strides[d] % parts == 0)) return std::nullopt;
    layout.strides[d] = layout.strides[d] / parts;
  }
  layout.offset = layout.offset / parts;
  return layout;
}
inline bool view_as_complex(LayoutRule& rule) {
  auto layout = in_larger_elements(rule, 2);
  if (!layout || !require(layout->sizes.back() == 1)) return false;
  erase_dim(*layout, layout->sizes.size() - 1);
  rule.view(0, *std::move(layout));
  return true;
}

// Returns the strides and the offset of the first input counted in elements that are `parts` times smaller.
// The sizes do not change.
inline TensorLayout in_parts(LayoutRule& rule, std::int64_t parts) {
  TensorLayout layout = rule.tensor(0);
  for (Size& stride : layout.strides) stride *= parts;
  layout.offset *= parts;
  return layout;
}

// view(x, dtype)
inline bool view_in_dtype(LayoutRule& rule) {
  const auto before = static_cast<std::int64_t>(rule.value(0).toTensor().element_size());
  const auto after =
      static_cast<std::int64_t>(c10::elementSize(static_cast<c10::ScalarType>(rule.value(1).toInt())));
  if (before == after) return unchanged(rule);
  std::optional<TensorLayout> layout;
  if (before < after) {
    layout = in_larger_elements(rule, after / before);
  } else if (const TensorLayout& self = rule.tensor(0);
             !self.sizes.empty() && require(self.strides.back() == 1)) {
    layout = in_parts(rule, before / after);
    layout->sizes.back() *= before / after;
    layout->strides.back() = 1;
  }
  return rule.view_if_known(0, layout);
}
inline bool view_as_real(LayoutRule& rule) {
  TensorLayout layout = in_parts(rule, 2);
  layout.sizes.push_back(2);
  layout.strides.push_back(1);
  rule.view(0, std::move(layout));
  return true;
}

// real(x), imag(x): part 0 or 1 of each complex number; real(x) of real numbers is x.
template <std::int64_t kPart>
bool part_of_complex(LayoutRule& rule) {
  if (rule.returned().is_input) {
    rule.same(0);
    return true;
  }
  TensorLayout layout = in_parts(rule, 2);
  layout.offset += kPart;
  rule.view(0, std::move(layout));
  return true;
}

}  // namespace sr::replay::layouts
