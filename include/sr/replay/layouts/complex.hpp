// Layouts of views of complex numbers, and of numbers as complex ones.
#pragma once

#include <cstdint>
#include <utility>

#include <sr/replay/layouts/views.hpp>

namespace sr::replay::layouts {

// The layout of the first input in elements that are `parts` times as large, without the last dimension of so
// many elements; at::view_as_complex checks the same.
inline bool joined(LayoutRule& rule, std::int64_t parts) {
  TensorLayout layout = rule.tensor(0);
  if (layout.sizes.empty() || !require(layout.sizes.back() == parts) ||
      !require(layout.strides.back() == 1) || !require(layout.offset % parts == 0))
    return false;
  erase_dim(layout, layout.sizes.size() - 1);
  for (Size& stride : layout.strides) {
    if (!require(stride % parts == 0)) return false;
    stride = stride / parts;
  }
  layout.offset = layout.offset / parts;
  rule.view(0, std::move(layout));
  return true;
}
inline bool view_as_complex(LayoutRule& rule) {
  return joined(rule, 2);
}

// The layout of the first input in the halves of its elements.
inline TensorLayout halved(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  for (Size& stride : layout.strides) stride *= 2;
  layout.offset *= 2;
  return layout;
}
inline bool view_as_real(LayoutRule& rule) {
  TensorLayout layout = halved(rule);
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
  TensorLayout layout = halved(rule);
  layout.offset += kPart;
  rule.view(0, std::move(layout));
  return true;
}

// conj(x): a view of complex numbers, x itself if they are real
inline bool conjugate(LayoutRule& rule) {
  if (rule.returned().is_input) {
    rule.same(0);
  } else {
    rule.view(0, rule.tensor(0));
  }
  return true;
}

}  // namespace sr::replay::layouts
