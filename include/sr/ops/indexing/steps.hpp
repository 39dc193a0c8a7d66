// The step that reads elements by index tensors, and helpers of other steps that read indices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <c10/util/SmallVector.h>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/sizes/size.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// Out of line, so that its callers can be inlined into loops.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_index() {
  throw Deoptimized("An index is out of range.", Deoptimized::Program::kept);
}

inline void check_indices(const void* indices, bool wide, std::size_t count, std::int64_t limit) {
  if (!kernels::kernels().table.all_within(indices, wide, count, limit)) refuse_index();
}

// Calls `copy` with the number of bytes. It is a compile-time constant for the size of one element, so that
// the copy is a load and a store.
template <class Copy>
void by_run_bytes(std::size_t bytes, const Copy& copy) {
  switch (bytes) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>());
    case 2:
      return copy(std::integral_constant<std::size_t, 2>());
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    case 8:
      return copy(std::integral_constant<std::size_t, 8>());
    default:
      return copy(bytes);
  }
}

// The sizes of a step that moves runs of bytes between indexed rows of a table and rows that follow each
// other. Both are stacked `outer` times.
struct IndexedRows {
  struct Sizes {
    Size outer, count, run_bytes;
    Size table_outer_bytes, table_bytes;  // strides of the table: of `outer`, and of the indexed dimension
    Size rows_outer_bytes, row_bytes;     // strides of the rows: of `outer`, and of a row
    Size limit;                           // indices must be less
  };
  // In this call:
  std::size_t outer = 1, count = 0, run_bytes = 0;
  std::int64_t table_outer_bytes = 0, table_bytes = 0, rows_outer_bytes = 0, row_bytes = 0, limit = 0;

  void settle(const Sizes& sizes, SizeValues& values) {
    outer = values.count(sizes.outer);
    count = values.count(sizes.count);
    run_bytes = values.count(sizes.run_bytes);
    table_outer_bytes = values(sizes.table_outer_bytes);
    table_bytes = values(sizes.table_bytes);
    rows_outer_bytes = values(sizes.rows_outer_bytes);
    row_bytes = values(sizes.row_bytes);
    limit = values(sizes.limit);
  }
};

// Iterates over the result. The address of an element's source moves along, and by the values of the indices
// at that place. Strides are in bytes.
struct IndexStep final : ClonableStep<IndexStep> {
  std::string_view name() const override { return "indexing"; }
  bool may_fail() const override { return true; }  // indices out of range
  static constexpr std::size_t kMostIndices = 4;
  using Strides = std::array<std::int64_t, kMostIndices>;
  // A dimension as expressions that hold for every call; strides are in bytes.
  struct DimensionOf {
    Size size = 1, in = 0, out = 0;
    std::array<Size, kMostIndices> indices{};
  };
  struct IndexOf {
    Size limit, stride;
  };
  // Its values in the current call.
  struct Dimension {
    std::int64_t size = 1, in = 0, out = 0;
    Strides indices{};
  };
  struct Index {
    Address at;
    std::int64_t limit = 0, stride = 0;
    IndexOf of = {};
  };
  struct Place {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::array<const std::byte*, kMostIndices> indices{};
  };

  Address in, out;
  c10::SmallVector<Index, kMostIndices> indices;
  c10::SmallVector<DimensionOf, 4> dimensions_of;  // outermost first, at least one
  c10::SmallVector<Dimension, 4> dimensions;
  Size run_bytes_of;
  std::size_t run_bytes = 0;  // what follows in both tensors from each element on
  bool wide = true;           // 64-bit indices
  bool wraps = false;         // -1 is the last

  RunStep settle(SizeValues& values) override {
    run_bytes = values.count(run_bytes_of);
    for (Index& index : indices) {
      index.limit = values(index.of.limit);
      index.stride = values(index.of.stride);
    }
    dimensions.resize(dimensions_of.size());
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const DimensionOf& of = dimensions_of[d];
      dimensions[d] = {values(of.size), values(of.in), values(of.out), {}};
      for (std::size_t k = 0; k < indices.size(); ++k) dimensions[d].indices[k] = values(of.indices[k]);
    }
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const IndexStep&>(payload);
    Place place{self.in.in(context.bases), self.out.in(context.bases), {}};
    for (std::size_t k = 0; k < self.indices.size(); ++k)
      place.indices[k] = self.indices[k].at.in(context.bases);
    if (self.wide) {
      self.run_on<std::int64_t>(place);
    } else {
      self.run_on<std::int32_t>(place);
    }
  }

 private:
  template <class Integer>
  void run_on(const Place& place) const {
    by_run_bytes(run_bytes, [&](auto bytes) { walk<Integer>(0, place, bytes); });
  }

  template <class Integer, class Bytes>
  void walk(std::size_t d, Place place, Bytes bytes) const {
    const Dimension& dimension = dimensions[d];
    if (d + 1 == dimensions.size() && indices.size() == 1)
      return copy_by_one<Integer>(dimension, place, bytes);
    for (std::int64_t i = 0; i < dimension.size; ++i) {
      if (d + 1 != dimensions.size()) {
        walk<Integer>(d + 1, place, bytes);
      } else {
        const std::byte* from = place.in;
        for (std::size_t k = 0; k < indices.size(); ++k)
          from += offset_by<Integer>(indices[k], place.indices[k], wraps);
        std::memcpy(place.out, from, bytes);
      }
      place.in += dimension.in;
      place.out += dimension.out;
      for (std::size_t k = 0; k < indices.size(); ++k) place.indices[k] += dimension.indices[k];
    }
  }

  template <class Integer, class Bytes>
  void copy_by_one(const Dimension& dimension, const Place& place, Bytes bytes) const {
    // Local copies: for the compiler a written element could alias any member.
    const Index index = indices[0];
    const bool may_wrap = wraps;
    const std::int64_t size = dimension.size, in_step = dimension.in, out_step = dimension.out,
                       step = dimension.indices[0];
    const std::byte *from = place.in, *at = place.indices[0];
    std::byte* to = place.out;
    if (may_wrap || step != sizeof(Integer)) {
      for (std::int64_t i = 0; i < size; ++i, from += in_step, to += out_step, at += step)
        std::memcpy(to, from + offset_by<Integer>(index, at, may_wrap), bytes);
      return;
    }
    constexpr std::int64_t kAtOnce = 1024;  // still in the first cache when they are followed
    for (std::int64_t done = 0; done < size; done += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, size - done);
      const Integer* const chosen = reinterpret_cast<const Integer*>(at) + done;
      check_indices(chosen, wide, static_cast<std::size_t>(count), index.limit);
      if constexpr (!std::is_same_v<Bytes, std::size_t>) {
        if (in_step == 0 && out_step == bytes && index.stride == bytes) {
          copy_chosen<Bytes::value>(from, chosen, count, to);
          to += count * out_step;
          continue;
        }
      }
      for (std::int64_t i = 0; i < count; ++i, from += in_step, to += out_step)
        std::memcpy(to, from + static_cast<std::int64_t>(chosen[i]) * index.stride, bytes);
    }
  }

  // Copies elements of one run.
  template <std::int64_t kBytes, class Integer>
  static void copy_chosen(const std::byte* from, const Integer* chosen, std::int64_t count, std::byte* to) {
    struct Element {
      std::byte bytes[kBytes];
    };
    const auto* const in = reinterpret_cast<const Element*>(from);
    auto* const out = reinterpret_cast<Element*>(to);
    std::int64_t i = 0;
    // Reads four elements before it writes them, since the compiler cannot know that they do not overlap.
    for (; i + 4 <= count; i += 4) {
      const Element a = in[chosen[i]], b = in[chosen[i + 1]], c = in[chosen[i + 2]], d = in[chosen[i + 3]];
      out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < count; ++i) out[i] = in[chosen[i]];
  }

  template <class Integer>
  static std::int64_t offset_by(const Index& index, const std::byte* at, bool may_wrap) {
    std::int64_t value = *reinterpret_cast<const Integer*>(at);
    if (may_wrap && value < 0) value += index.limit;
    if (static_cast<std::uint64_t>(value) >= static_cast<std::uint64_t>(index.limit)) refuse_index();
    return value * index.stride;
  }
};

}  // namespace sr::replay
