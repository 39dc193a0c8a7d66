// Makes known what every built-in operator is lowered to.
#pragma once

#include <sr/plan/lower/attention.hpp>
#include <sr/plan/lower/bags.hpp>
#include <sr/plan/lower/batch_norm.hpp>
#include <sr/plan/lower/conditions.hpp>
#include <sr/plan/lower/convolution.hpp>
#include <sr/plan/lower/copies.hpp>
#include <sr/plan/lower/epilogues.hpp>
#include <sr/plan/lower/gather.hpp>
#include <sr/plan/lower/iterator_table.hpp>
#include <sr/plan/lower/lookups.hpp>
#include <sr/plan/lower/norms.hpp>
#include <sr/plan/lower/pointwise.hpp>
#include <sr/plan/lower/pooling.hpp>
#include <sr/plan/lower/products.hpp>
#include <sr/plan/lower/reductions.hpp>
#include <sr/plan/lower/rows.hpp>
#include <sr/plan/lower_table.hpp>

namespace sr::plan {

inline const bool builtin_lowerings_known = [] {
  LowerTables& tables = lower_tables();
  lower::add_pointwise(tables.kernels);
  lower::add_copies(tables.kernels);
  lower::add_conditions(tables.kernels);
  lower::add_products(tables.kernels);
  lower::add_reductions(tables.kernels);
  lower::add_rows(tables.kernels);
  lower::add_norms(tables.kernels);
  lower::add_convolutions(tables.kernels);
  lower::add_pooling(tables.kernels);
  lower::add_epilogues(tables.kernels);
  lower::add_batch_norm(tables.kernels);
  lower::add_attention(tables.kernels);
  lower::add_gather(tables.kernels);
  lower::add_lookups(tables.kernels);
  lower::add_bags(tables.kernels);
  tables.iterators = iterator_table();
  return true;
}();

}  // namespace sr::plan
