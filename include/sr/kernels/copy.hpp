// Copies between strided layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/table.hpp>
#include <sr/kernels/transpose.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

struct CopyDimension {
  std::int64_t size, in, out;
};

// The shape without dimensions of size 1, and with neighbours merged that are one run in both layouts.
struct MergedCopy {
  std::size_t rank = 0;
  bool empty = false;
  CopyDimension dimensions[StridedCopy::kMaxRank];

  explicit MergedCopy(const StridedCopy& shape) {
    for (std::size_t d = 0; d < shape.rank; ++d) {
      const CopyDimension next{shape.sizes[d], shape.in_strides[d], shape.out_strides[d]};
      empty |= next.size == 0;
      if (next.size == 1) continue;
      CopyDimension& outer = dimensions[rank == 0 ? 0 : rank - 1];
      if (rank != 0 && outer.in == next.size * next.in && outer.out == next.size * next.out) {
        outer = {outer.size * next.size, next.in, next.out};
      } else {
        dimensions[rank++] = next;
      }
    }
  }
  // Removes the dimension along which `in` is contiguous, or else the innermost one. In a transposed copy,
  // elements of one cache line are then accessed close to each other in time.
  CopyDimension take(bool contiguous_in) {
    if (rank == 0) return {1, 0, 0};
    std::size_t which = rank - 1;
    for (std::size_t d = 0; contiguous_in && d < rank; ++d) {
      if (dimensions[d].in == 1) which = d;
    }
    const CopyDimension taken = dimensions[which];
    for (std::size_t d = which + 1; d < rank; ++d) dimensions[d - 1] = dimensions[d];
    --rank;
    return taken;
  }
};

// The register type that copies a run. Runs seldom begin at a cache line, and a wider store spans two lines
// more often.
inline constexpr std::size_t kCopied = kWidth < 8 ? kWidth : 8;  // floats
SR_KERNEL_INLINE void copy_few(const float* from, float* to) {
  using Few [[gnu::vector_size(kCopied * sizeof(float))]] = float;
  Few few;
  std::memcpy(&few, from, sizeof(few));
  std::memcpy(to, &few, sizeof(few));
}

// Copies `rows` runs of `count` elements, `in_step` and `out_step` bytes apart. A call of memcpy costs more
// than a short run. Small elements need not have the alignment of floats.
template <std::size_t kBytes>
SR_KERNEL_INLINE void copy_runs(std::int64_t rows, std::size_t count, const char* in, std::int64_t in_step,
                                char* out, std::int64_t out_step) {
  constexpr std::size_t kShort = 256 / kBytes;
  const std::size_t floats = count * kBytes / sizeof(float);
  const auto each = [&](auto run) __attribute__((always_inline)) {
    for (; rows > 0; --rows, in += in_step, out += out_step)
      run(reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out));
  };
  if (kBytes < sizeof(float) || count > kShort) {
    each([&](const float* from, float* to) { std::memcpy(to, from, count * kBytes); });
  } else if (floats < kCopied) {
    each([&](const float* from, float* to) { Vec::load(from, floats).store(to, floats); });
  } else {
    // The last register overlaps the one before, which is cheaper than a partial access.
    each([&](const float* from, float* to) __attribute__((always_inline)) {
      const std::size_t end = floats - kCopied;
      for (std::size_t i = 0; i < end; i += kCopied) copy_few(from + i, to + i);
      copy_few(from + end, to + end);
    });
  }
}

SR_KERNEL_INLINE void copy_transposed(const CopyDimension& outer, const CopyDimension& inner, const float* in,
                                      float* out) {
  for (std::int64_t i = 0; i < outer.size; i += kWidth) {
    for (std::int64_t j = 0; j < inner.size; j += kWidth) {
      const auto rows = static_cast<std::size_t>(inner.size - j),
                 columns = static_cast<std::size_t>(outer.size - i);
      transpose_block<false>(in + i + j * inner.in, inner.in, rows < kWidth ? rows : kWidth,
                             columns < kWidth ? columns : kWidth, out + i * outer.out + j, outer.out);
    }
  }
}

// Element by element, in the order of `out`.
template <std::size_t kBytes>
SR_KERNEL_INLINE void copy_one_by_one(const CopyDimension& outer, const CopyDimension& inner, const char* in,
                                      char* out) {
  constexpr std::int64_t kStep = kBytes;
  for (std::int64_t i = 0; i < outer.size; ++i) {
    const char* const from = in + i * outer.in * kStep;
    char* const to = out + i * outer.out * kStep;
    for (std::int64_t j = 0; j < inner.size; ++j)
      std::memcpy(to + j * inner.out * kStep, from + j * inner.in * kStep, kBytes);
  }
}

// Both sizes are at least kByteBlock. The last blocks overlap the ones before.
SR_KERNEL_INLINE void copy_bytes_transposed(const CopyDimension& outer, const CopyDimension& inner,
                                            const char* in, char* out) {
  constexpr std::int64_t kBlock = kByteBlock;
  const auto each_block = [](std::int64_t size, auto body) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < size; i += kBlock) body(i + kBlock <= size ? i : size - kBlock);
  };
  each_block(
      outer.size, [&](std::int64_t i) __attribute__((always_inline)) {
        each_block(
            inner.size, [&](std::int64_t j) __attribute__((always_inline)) {
              transpose_bytes(in + i + j * inner.in, inner.in, out + i * outer.out + j, outer.out);
            });
      });
}

// Planes of bytes, as of a picture's colours, to pixels. The compiler interleaves whole registers.
template <std::size_t kPlanes>
inline void interleave_planes(std::int64_t pixels, const char* __restrict in, std::int64_t plane,
                              char* __restrict out) {
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < kPlanes; ++c)
      out[i * std::int64_t{kPlanes} + static_cast<std::int64_t>(c)] =
          in[i + static_cast<std::int64_t>(c) * plane];
  }
}

// Writes the element at `from` `count` times.
template <std::size_t kBytes>
SR_KERNEL_INLINE void repeat_element(const char* from, std::size_t count, char* to) {
  if constexpr (kBytes == sizeof(float)) {
    std::int32_t element;  // not a float: it may be an integer that looks like a NaN
    std::memcpy(&element, from, sizeof(element));
    const Vec value = from_bits(Ints(element));
    over_row(
        count, [&](std::size_t i, auto part)
                   __attribute__((always_inline)) { part.store(value, reinterpret_cast<float*>(to) + i); });
  } else {
    struct Element {
      char bytes[kBytes];
    } element;
    std::memcpy(&element, from, kBytes);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, &element, kBytes);
  }
}

template <std::size_t kBytes>
[[gnu::flatten]] inline void copy_plane(const CopyDimension& outer, const CopyDimension& inner,
                                        const char* in, char* out) {
  constexpr std::int64_t kStep = kBytes;
  constexpr std::int64_t kFew = 4;  // of either size: there is nothing to gain by blocks
  if constexpr (kBytes == sizeof(float)) {
    const bool repeats = inner.in == 0 && inner.size > std::int64_t{2 * kWidth};
    if (outer.in == 1 && inner.out == 1 && inner.in != 1 && !repeats && outer.size >= kFew &&
        inner.size >= kFew) {
      return copy_transposed(outer, inner, reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out));
    }
  }
  if constexpr (kBytes == 1) {
    constexpr std::int64_t kBlock = kByteBlock;
    if (outer.in == 1 && inner.out == 1 && inner.in > 1 && outer.size >= kBlock && inner.size >= kBlock)
      return copy_bytes_transposed(outer, inner, in, out);
    const bool is_of_pixels = outer.in == 1 && inner.out == 1 && outer.out == inner.size;
    if (is_of_pixels && inner.size == 3) return interleave_planes<3>(outer.size, in, inner.in, out);
    if (is_of_pixels && inner.size == 4) return interleave_planes<4>(outer.size, in, inner.in, out);
  }
  if (inner.in == 1 && inner.out == 1) {
    return copy_runs<kBytes>(outer.size, static_cast<std::size_t>(inner.size), in, outer.in * kStep, out,
                             outer.out * kStep);
  }
  if (inner.in != 0 || inner.out != 1) return copy_one_by_one<kBytes>(outer, inner, in, out);
  for (std::int64_t i = 0; i < outer.size; ++i) {
    repeat_element<kBytes>(in + i * outer.in * kStep, static_cast<std::size_t>(inner.size),
                           out + i * outer.out * kStep);
  }
}

template <std::size_t kBytes>
inline void copy_elements(const StridedCopy& shape, const char* in, char* out) {
  MergedCopy rest(shape);
  if (rest.empty) return;
  const CopyDimension inner = rest.take(false);
  const CopyDimension outer = rest.take(true);
  std::int64_t index[StridedCopy::kMaxRank] = {};
  for (;;) {
    copy_plane<kBytes>(outer, inner, in, out);
    std::size_t d = rest.rank;
    for (;; --d) {
      if (d == 0) return;
      const CopyDimension& dimension = rest.dimensions[d - 1];
      in += dimension.in * std::int64_t{kBytes};
      out += dimension.out * std::int64_t{kBytes};
      if (++index[d - 1] < dimension.size) break;
      index[d - 1] = 0;
      in -= dimension.size * dimension.in * std::int64_t{kBytes};
      out -= dimension.size * dimension.out * std::int64_t{kBytes};
    }
  }
}

inline void copy(const StridedCopy& shape, const void* in, void* out) {
  const auto* from = static_cast<const char*>(in);
  auto* to = static_cast<char*>(out);
  switch (shape.width) {
    case 1:
      return copy_elements<1>(shape, from, to);
    case 2:
      return copy_elements<2>(shape, from, to);
    case 4:
      return copy_elements<4>(shape, from, to);
    case 8:
      return copy_elements<8>(shape, from, to);
    default:
      return copy_elements<16>(shape, from, to);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
