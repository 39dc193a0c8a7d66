// Registers the lowerings of all built-in operators.
#pragma once

#include <sr/replay/lowering/attention.hpp>
#include <sr/replay/lowering/bags.hpp>
#include <sr/replay/lowering/batch_norm.hpp>
#include <sr/replay/lowering/comparison.hpp>
#include <sr/replay/lowering/convolution.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/epilogues.hpp>
#include <sr/replay/lowering/gemm.hpp>
#include <sr/replay/lowering/index_select.hpp>
#include <sr/replay/lowering/indexing.hpp>
#include <sr/replay/lowering/iterator_table.hpp>
#include <sr/replay/lowering/lower_table.hpp>
#include <sr/replay/lowering/norms.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/lowering/pooling.hpp>
#include <sr/replay/lowering/reductions.hpp>
#include <sr/replay/lowering/softmax.hpp>

namespace sr::replay {

inline const bool builtin_lowerings_known = [] {
  LowerTables& tables = lower_tables();
  lower::add_pointwise(tables.kernels);
  lower::add_copies(tables.kernels);
  lower::add_comparison(tables.kernels);
  lower::add_gemm(tables.kernels);
  lower::add_reductions(tables.kernels);
  lower::add_softmax(tables.kernels);
  lower::add_norms(tables.kernels);
  lower::add_convolutions(tables.kernels);
  lower::add_pooling(tables.kernels);
  lower::add_epilogues(tables.kernels);
  lower::add_batch_norm(tables.kernels);
  lower::add_attention(tables.kernels);
  lower::add_index_select(tables.kernels);
  lower::add_indexing(tables.kernels);
  lower::add_bags(tables.kernels);
  tables.iterators = iterator_table();
  return true;
}();

}  // namespace sr::replay
