// A kernel that computes each row of a matrix from the row of another one.
#pragma once

#include <cstddef>

#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/row_shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The sizes of rows; see kernels::RowMatrix.
struct RowSizes {
  Size rows, columns, in_stride, out_stride;

  void settle(SizeValues& values, kernels::RowMatrix& shape) const {
    shape.rows = values.count(rows);
    shape.columns = values.count(columns);
    shape.in_stride = values(in_stride);
    shape.out_stride = values(out_stride);
  }
};

// A step has a function run_on(const kernels::RowMatrix& rows, std::byte* const* bases), which computes those
// rows. Threads share them in parts of rows_together() or more.
template <class Derived>
struct RowsStep : ClonableStep<Derived> {
  RowSizes sizes;
  kernels::RowMatrix shape;  // in this call
  Address in, out;
  RowShares parts;

  std::size_t rows_together() const { return 1; }

  RunStep settle(SizeValues& values) override {
    sizes.settle(values, shape);
    return parts.cut(shape, self(*this).rows_together()) ? &run_parts : &run;
  }

  Shares* shared_work() override { return &parts.shares; }

  static void run(const Payload& payload, Context& context) {
    const Derived& step = self(payload);
    step.run_on(step.bound(context.bases), context.bases);
  }

 private:
  static const Derived& self(const Payload& payload) { return static_cast<const Derived&>(payload); }

  static void run_parts(const Payload& payload, Context& context) {
    const Derived& step = self(payload);
    step.parts.each(step.bound(context.bases),
                    [&](const kernels::RowMatrix& part) { step.run_on(part, context.bases); });
  }

  kernels::RowMatrix bound(std::byte* const* bases) const {
    kernels::RowMatrix rows = shape;
    rows.in = in.in<const float>(bases);
    rows.out = out.in<float>(bases);
    return rows;
  }
};

}  // namespace sr::replay
