// Joins the states of several sessions into the state of one call, and divides it again. Used by
// SessionBatch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/module/state_values.hpp>

namespace sr::detail {

// Returns the dimension of the rows in each variable: `given` by name, or else `dim_of_arguments`. Throws
// ArgumentError for an unknown name and for a negative dimension.
inline std::vector<std::int64_t> dims_of_state(const std::vector<StateVariable>& variables,
                                               const std::map<std::string, std::int64_t>& given,
                                               std::int64_t dim_of_arguments) {
  std::vector<std::int64_t> dims;
  for (const StateVariable& variable : variables) {
    const auto known = given.find(variable.source.name());
    dims.push_back(known == given.end() ? dim_of_arguments : known->second);
    if (dims.back() < 0)
      throw ArgumentError("state_dims has a negative dimension for '" + variable.source.name() +
                          "'; it counts from the front.");
  }
  for (const auto& [name, dim] : given) {
    if (!position_of(variables, name))
      throw ArgumentError("state_dims names '" + name + "', which the state of the model does not have.");
  }
  return dims;
}

// Joins tensors, and tensors in containers, along the rows.
class StateJoin {
 public:
  // `rows` has the number of rows of each session. The joined state has `filled_rows`; those behind the rows
  // of all sessions are copies of the first.
  StateJoin(const std::vector<StateVariable>& variables, const std::vector<std::int64_t>& dims,
            std::vector<std::int64_t> rows, std::int64_t filled_rows)
      : variables_(variables), dims_(dims), rows_(std::move(rows)), filled_rows_(filled_rows) {}

  StateValues join(const std::vector<const StateValues*>& states) const {
    std::vector<c10::IValue> joined;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      std::vector<std::vector<at::Tensor>> parts(states.size());
      for (std::size_t s = 0; s < states.size(); ++s) {
        each_tensor(states[s]->variables()[v], [&](const at::Tensor& tensor) {
          require_rows(v, tensor, rows_[s]);
          parts[s].push_back(tensor);
        });
      }
      std::size_t next = 0;
      joined.push_back(
          with_tensors(states[0]->variables()[v], [&](const at::Tensor&) { return join(v, parts, next++); }));
    }
    return StateValues(std::move(joined));
  }

  // Returns the variables of each session. Throws ArgumentError if a variable does not have `filled_rows`.
  std::vector<std::vector<c10::IValue>> divide(const StateValues& joined) const {
    std::vector<std::vector<c10::IValue>> divided(rows_.size());
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      each_tensor(joined.variables()[v],
                  [&](const at::Tensor& tensor) { require_rows(v, tensor, filled_rows_); });
      std::int64_t first = 0;
      for (std::size_t s = 0; s < rows_.size(); ++s) {
        divided[s].push_back(with_tensors(joined.variables()[v], [&](const at::Tensor& tensor) {
          return tensor.narrow(dims_[v], first, rows_[s]).clone(at::MemoryFormat::Contiguous);
        }));
        first += rows_[s];
      }
    }
    return divided;
  }

 private:
  void require_rows(std::size_t v, const at::Tensor& tensor, std::int64_t rows) const {
    if (dims_[v] < tensor.dim() && tensor.size(dims_[v]) == rows) return;
    throw ArgumentError("The variable '" + variables_[v].source.name() + "' has the sizes " +
                            c10::str(tensor.sizes()) + ", and no rows along dimension " +
                            std::to_string(dims_[v]) + ", of which the call has " + std::to_string(rows) +
                            ". state_dims says where they lie.",
                        variables_[v].source.name());
  }

  at::Tensor join(std::size_t v, const std::vector<std::vector<at::Tensor>>& parts, std::size_t i) const {
    std::vector<at::Tensor> all;
    std::int64_t rows = 0;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      all.push_back(parts[s][i]);
      rows += rows_[s];
    }
    for (const at::Tensor first = all[0].narrow(dims_[v], 0, std::min<std::int64_t>(rows_[0], 1));
         rows < filled_rows_; ++rows)
      all.push_back(first);
    return at::cat(all, dims_[v]);
  }

  const std::vector<StateVariable>& variables_;
  const std::vector<std::int64_t>& dims_;
  std::vector<std::int64_t> rows_;
  std::int64_t filled_rows_;
};

}  // namespace sr::detail
