// Operators of LibTorch 2.13 whose `.out` overload computes something else than the functional one: they are
// left to the interpreter. Found by ./dev conformance.
#pragma once

#include <unordered_set>

#include <ATen/core/interned_strings.h>

namespace sr::detail {

inline bool has_mismatched_out(c10::Symbol kind) {
  static const std::unordered_set<c10::Symbol> known = {
      // Reads uninitialised statistics if input and output have different memory formats.
      c10::Symbol::fromQualString("aten::_native_batch_norm_legit"),
      c10::Symbol::fromQualString("aten::native_batch_norm"),
      // The functional overload computes the mean of whole images in another precision.
      c10::Symbol::fromQualString("aten::adaptive_avg_pool3d"),
      // Computes into a buffer of the result's size, where the input's is needed.
      c10::Symbol::fromQualString("aten::binary_cross_entropy"),
      // The functional overload returns real tensors unchanged.
      c10::Symbol::fromQualString("aten::conj_physical"),
      // Leaves its output empty.
      c10::Symbol::fromQualString("aten::fft_ihfftn"),
      // Broadcasts the previous sizes of its output against those of its arguments.
      c10::Symbol::fromQualString("aten::normal"),
  };
  return known.count(kind) != 0;
}

}  // namespace sr::detail
