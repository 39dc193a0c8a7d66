// What a fused step does with complete rows of a tile: sums, softmax, norms. The rows are in the first-level
// cache then, and are written to memory only if another step reads them.
#pragma once

#include <cstddef>
#include <memory>

#include <sr/base/cloning_ptr.hpp>
#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/tile_op.hpp>

namespace sr::replay {

// A kernel on whole rows.
struct RowKernel {
  virtual ~RowKernel() = default;
  virtual void settle(SizeValues&) {}  // see Payload::settle
  virtual void run(const kernels::RowMatrix& rows, std::byte* const* bases) const = 0;
  virtual std::unique_ptr<RowKernel> clone() const = 0;
};

template <class Kernel>
struct ClonableRowKernel : RowKernel {
  std::unique_ptr<RowKernel> clone() const final {
    return std::make_unique<Kernel>(static_cast<const Kernel&>(*this));
  }
};

struct RowTail {
  sr::detail::CloningPtr<RowKernel> kernel;
  TileOperand in;
  Address out;
  Size columns_of, out_columns_of;           // of a row of the tile, and of the result
  std::size_t columns = 0, out_columns = 0;  // the same in this call
  std::size_t rows_of_index = 0;             // rows of one index of the dimension that is split; see `Tile`

  // `inner` as FusedStep::inner.
  void settle(SizeValues& values, std::size_t inner) {
    kernel->settle(values);
    columns = values.count(columns_of);
    out_columns = values.count(out_columns_of);
    rows_of_index = inner / columns;
  }

  void run(std::byte* const* bases, const Tile& tile) const {
    // A single row may be the dimension that is split.
    const bool is_row = rows_of_index == 0;
    kernel->run({.rows = is_row ? 1 : tile.indices * rows_of_index,
                 .columns = columns,
                 .in = in.in(bases, tile.first),
                 .in_stride = static_cast<std::ptrdiff_t>(columns),
                 .out = out.in<float>(bases) + tile.first_index * rows_of_index * out_columns,
                 .out_stride = static_cast<std::ptrdiff_t>(out_columns)},
                bases);
  }
};

}  // namespace sr::replay
