// Makes known what every built-in operator is lowered to.
#pragma once

#include <sr/plan/lower/copies.hpp>
#include <sr/plan/lower/iterator_table.hpp>
#include <sr/plan/lower/pointwise.hpp>
#include <sr/plan/lower/products.hpp>
#include <sr/plan/lower/rows.hpp>
#include <sr/plan/lower_table.hpp>

namespace sr::plan {

inline const bool builtin_lowerings_known = [] {
  LowerTables& tables = lower_tables();
  lower::add_pointwise(tables.kernels);
  lower::add_copies(tables.kernels);
  lower::add_products(tables.kernels);
  lower::add_rows(tables.kernels);
  tables.iterators = iterator_table();
  return true;
}();

}  // namespace sr::plan
