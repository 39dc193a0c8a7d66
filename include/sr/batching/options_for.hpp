// The options of a Batcher for one model: completed by what its schema says of sizes, and checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <sr/base/error.hpp>
#include <sr/batching/options.hpp>
#include <sr/executor/arguments.hpp>

namespace sr::detail {

// True if the argument has no rows.
inline bool is_shared(const BatcherOptions& options, std::size_t position) {
  return std::ranges::find(options.shared, position) != options.shared.end();
}

// Finds the dimension of rows, unless it is given, and the arguments all of whose sizes are fixed.
inline BatcherOptions with_sizes_of(const c10::FunctionSchema& schema, BatcherOptions options) {
  const bool finds_dim = options.dim == -1;
  bool knows_sizes = false;
  std::vector<bool> is_open;  // by dimension: in all arguments that have open sizes
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto type = schema.arguments()[i].type()->cast<c10::TensorType>();
    if (type == nullptr || !type->symbolic_sizes().rank()) continue;
    const c10::SymbolicShape& shape = type->symbolic_sizes();
    std::vector<bool> open;
    for (std::size_t d = 0; d < *shape.rank(); ++d) open.push_back(!shape[d].is_static());
    if (std::ranges::find(open, true) == open.end()) {
      if (!is_shared(options, i)) options.shared.push_back(i);
      continue;
    }
    if (knows_sizes) {
      open.resize(std::min(open.size(), is_open.size()));
      for (std::size_t d = 0; d < open.size(); ++d) open[d] = open[d] && is_open[d];
    }
    knows_sizes = true;
    is_open = std::move(open);
  }
  if (finds_dim) {
    const auto first = std::ranges::find(is_open, true);
    options.dim = first == is_open.end() ? 0 : first - is_open.begin();
  }
  return options;
}

// Throws ArgumentError.
inline void check_options(const c10::FunctionSchema& schema, const BatcherOptions& options) {
  const auto refuse = [](const std::string& what) { throw ArgumentError("BatcherOptions::" + what); };
  const std::size_t count = schema.arguments().size();
  if (options.dim < 0) refuse("dim is negative; it counts from the front.");
  if (options.max_rows < 1)
    refuse("max_rows is " + std::to_string(options.max_rows) + ", expected 1 or more.");
  if (options.max_waiting < 1) refuse("max_waiting is 0, expected 1 or more.");
  if (options.max_wait.count() < 0) refuse("max_wait is negative.");
  for (const std::size_t position : options.shared) {
    if (position >= count) {
      refuse("shared names argument " + std::to_string(position) + " of " + signature_of(schema) + ".");
    }
  }
  for (const Padding& padding : options.padding) {
    if (padding.argument >= count || is_shared(options, padding.argument)) {
      refuse("padding names argument " + std::to_string(padding.argument) + ", which is shared or none of " +
             signature_of(schema) + ".");
    }
    if (padding.dim < 0 || padding.dim == options.dim) {
      refuse("padding has dimension " + std::to_string(padding.dim) +
             ", expected one that is not negative and not that of the rows.");
    }
  }
  if (options.padded_result_dim >= 0 && options.padding.empty())
    refuse("padded_result_dim needs an entry of padding, whose sizes it follows.");
}

inline BatcherOptions options_for(const c10::FunctionSchema& schema, BatcherOptions options) {
  options = with_sizes_of(schema, std::move(options));
  check_options(schema, options);
  return options;
}

}  // namespace sr::detail
