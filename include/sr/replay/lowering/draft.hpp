// What lowering makes of nodes before the memory of a program is laid out: drafts of steps, and groups of
// pointwise operations that become one step each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A step before memory is laid out.
struct Draft {
  Step step;
  std::vector<StorageId> reads, writes;
  std::uint32_t group = kNone;  // of pointwise operations; its step is made when all are known
};

struct PointwiseInput {
  std::optional<Operand> operand;
  double number = 0;  // without an operand

  PointwiseInput(Operand tensor) : operand(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  PointwiseInput(double value) : number(value) {}                 // NOLINT(google-explicit-constructor)
};

// A vector op and the type that it computes in: floats, doubles or 64-bit integers.
struct Compute {
  const kernels::VectorLoops* vector_op = nullptr;  // on floats
  const kernels::Loops64* loops64 = nullptr;        // on the others
  c10::ScalarType type = c10::kFloat;

  Compute(const kernels::VectorLoops& on_floats)
      : vector_op(&on_floats) {}  // NOLINT(google-explicit-constructor)
  Compute(const kernels::Loops64& loops, c10::ScalarType dtype) : loops64(&loops), type(dtype) {}
};

// One pointwise operation on numbers and on operands that broadcast to the result. Operands of another type
// than the one it computes in are converted.
struct PointwiseOp {
  Compute compute;
  c10::SmallVector<PointwiseInput, 3> inputs;
  Operand out;
  std::uint32_t node = 0;
};

// A kernel on the rows of a result of a group. A row is the last `row_rank` dimensions.
struct GroupRows {
  std::unique_ptr<RowKernel> kernel;
  Operand in, out;
  std::size_t row_rank = 0;
  Size out_columns = 0;

  Size columns() const { return product_of(c10::ArrayRef<Size>(in.sizes).slice(in.rank() - row_rank)); }
};

// Operations that share one iteration space and one type, and become one step.
struct Group {
  std::size_t position = 0;  // of its draft
  Dims sizes;
  c10::ScalarType type = c10::kFloat;
  std::vector<PointwiseOp> ops;
  std::vector<GroupRows> rows;
};

}  // namespace sr::replay
