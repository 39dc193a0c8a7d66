// Operators that rearrange elements without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::rearranging_without_functor_tests {

namespace {

std::vector<InputSet> images() {
  return {{sample({2, 4, 6, 4})},
          {sample({2, 4, 6, 4})},
          {sample({1, 8, 2, 2})},
          {channels_last({2, 4, 6, 4})},
          {sample({2, 4, 6, 4}, at::kDouble)},
          {sample({2, 3, 5, 5})},
          {sample({2, 4, 6, 4})}};
}

std::vector<InputSet> counts() {
  return {{sample({3, 2}), at::tensor({1, 0, 2})},
          {sample({3, 2}), at::tensor({2, 2, 2})},
          {sample({3, 2}), at::tensor({1})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("pixel_shuffle", "torch.pixel_shuffle(x, 2)", &images);
  rows.add("pixel_unshuffle", "torch.pixel_unshuffle(x, 2)", &images);
  rows.add("channel_shuffle", "torch.channel_shuffle(x, 2)", &images);
  rows.add("roll", "torch.roll(x, [1], [0])", &few_alone);
  rows.add("roll", "torch.roll(x, 2)", &few_alone);
  rows.add("flip", "torch.flip(x, [0])", &few_alone);
  rows.add("fliplr", "torch.fliplr(x)", &few_alone);
  rows.add("flipud", "torch.flipud(x)", &few_alone);
  rows.add("rot90", "torch.rot90(x)", &few_alone);
  rows.add("tile", "torch.tile(x, [2])", &few_alone);
  rows.add("repeat_interleave.Tensor", "torch.repeat_interleave(c)", &counts, "x, c");
  rows.add("repeat_interleave.self_Tensor", "torch.repeat_interleave(x, c, 0)", &counts, "x, c");
  rows.add("repeat_interleave.self_int", "torch.repeat_interleave(x, 2, 0)", &few_alone);
  rows.add("constant_pad_nd", "torch.constant_pad_nd(x, [1, 2], 0.5)", &few_alone);
  rows.add("pad", "torch.pad(x, [1, 2])", &few_alone);
  rows.add("diag_embed", "torch.diag_embed(x)", &few_alone);
  rows.add("block_diag", "torch.block_diag([x, y])", &few_pairs, "x, y");
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("operators that rearrange elements without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::rearranging_without_functor_tests
