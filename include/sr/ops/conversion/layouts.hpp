// Rules for operators that copy a tensor into a memory format or dtype, or return it if no copy is needed.
#pragma once

#include <cstdint>

#include <c10/core/MemoryFormat.h>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// contiguous(x). Returns false for other memory formats than torch.contiguous_format.
inline bool contiguous(LayoutRule& rule) {
  if (rule.value(1).toInt() != static_cast<std::int64_t>(c10::MemoryFormat::Contiguous)) return false;
  if (!is_dense(rule.tensor(0))) return like_first(rule);
  rule.same(0);
  return true;
}

// clone(x, memory_format)
inline bool clone(LayoutRule& rule) {
  const c10::IValue& format = rule.value(1);
  const auto wanted =
      format.isNone() ? c10::MemoryFormat::Preserve : static_cast<c10::MemoryFormat>(format.toInt());
  if (wanted == c10::MemoryFormat::Preserve) return copy_in_order(rule);
  return wanted == c10::MemoryFormat::Contiguous && like_first(rule);
}

// to(x, dtype). LibTorch returns x itself if x already has the dtype.
inline bool convert(LayoutRule& rule) {
  if (!rule.returned().is_input) return copy_in_order(rule);
  rule.same(0);
  return true;
}
// to(x, other), which only looks at the dtype of `other`
inline bool convert_as_second(LayoutRule& rule) {
  rule.tensor(1);
  return convert(rule);
}

}  // namespace sr::replay::layouts
