// Joins the states of the requests of a batch into the state of one call, and divides it again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/batching/batched_calls.hpp>
#include <sr/batching/joining.hpp>
#include <sr/batching/row_copies.hpp>
#include <sr/module/state_values.hpp>
#include <sr/replay/trace/signature.hpp>

namespace sr::detail {

// Returns the dimension of the rows in each variable: `given` by name, or else `dim_of_arguments`. Throws
// ArgumentError for an unknown name and for a negative dimension.
inline std::vector<std::int64_t> dims_of_state(const std::vector<std::string>& variables,
                                               const std::map<std::string, std::int64_t>& given,
                                               std::int64_t dim_of_arguments) {
  std::vector<std::int64_t> dims;
  for (const std::string& variable : variables) {
    const auto known = given.find(variable);
    dims.push_back(known == given.end() ? dim_of_arguments : known->second);
    if (dims.back() < 0)
      throw ArgumentError("state_dims has a negative dimension for '" + variable +
                          "'; it counts from the front.");
  }
  for (const auto& [name, dim] : given) {
    if (std::ranges::find(variables, name) == variables.end())
      throw ArgumentError("state_dims names '" + name + "', which the state of the model does not have.");
  }
  return dims;
}

// Joins tensors, and tensors in containers, along the rows. Numbers are equal in all states, since they are
// part of the signature, and so are those of the joined state, except for numbers of rows.
class StateJoin {
 public:
  // `dims` has the dimension of the rows in each variable. Each request of the batch must have a state. The
  // joined state has `filled_rows` rows. The arguments must outlive this object.
  StateJoin(const BatchedCalls& calls, const std::vector<std::int64_t>& dims, const Batch& batch,
            std::int64_t filled_rows)
      : calls_(calls), dims_(dims), batch_(batch), filled_rows_(filled_rows) {}

  StateValues join() const {
    std::vector<c10::IValue> joined;
    joined.reserve(dims_.size());
    for (std::size_t v = 0; v < dims_.size(); ++v) joined.push_back(join(v));
    return StateValues(std::move(joined));
  }

  // True if a number of the joined state after a call may depend on the number of rows, so that the call has
  // to be compared with one of a single request.
  bool needs_comparison(const StateValues& joined) const {
    if (filled_rows_ == batch_[0]->rows) return false;
    if (!calls_.row_counts->was_compared()) return true;
    for (std::size_t v = 0; v < dims_.size(); ++v) {
      const c10::IValue& value = joined.variables()[v];
      if (calls_.row_counts->has(v) ? !is_filled(value) : has_number(value, filled_rows_)) return true;
    }
    return false;
  }
  // Compares with the state of the first request after a call by itself. Returns true if a variable was found
  // to hold the number of rows: the joined call began with a wrong one. Throws UnsupportedOpError if a number
  // depends on the number of rows in another way.
  bool learn(const StateValues& joined, const StateValues& alone) const {
    bool has_learnt = false;
    for (std::size_t v = 0; v < dims_.size(); ++v) {
      const c10::IValue &together = joined.variables()[v], &single = alone.variables()[v];
      if (are_same_numbers(together, single)) continue;
      const bool holds_rows = is_filled(together) && single.isInt() && single.toInt() == batch_[0]->rows;
      if (holds_rows && calls_.row_counts->has(v)) continue;
      if (!holds_rows) {
        calls_.row_counts->forbid_joining();
        throw UnsupportedOpError("The variable '" + calls_.variables[v] +
                                 "' depends on the number of rows of the call, so calls cannot be joined.");
      }
      calls_.row_counts->add(v);
      has_learnt = true;
    }
    calls_.row_counts->note_compared();
    return has_learnt;
  }

  // Throws UnsupportedOpError if the joined state after a call cannot be divided.
  void check(const StateValues& joined) const {
    if (joined.is_shared())
      throw UnsupportedOpError("Variables share memory after the call, so that its rows cannot be divided.");
    for (std::size_t v = 0; v < dims_.size(); ++v)
      each_tensor(joined.variables()[v], [&](const at::Tensor& tensor) { require_rows(v, tensor); });
  }

  // Gives each request the new values of its rows. Requires check().
  void divide(StateValues joined) const {
    std::vector<c10::IValue> whole = std::move(joined).take_variables();
    for (c10::IValue& value : whole)
      value = with_tensors(value, [](const at::Tensor& tensor) { return tensor.contiguous(); });
    // What allocates comes first, since nothing may fail between two states.
    std::vector<New> made(batch_.size());
    std::vector<std::vector<bool>> keeps_memory(whole.size());
    for (std::size_t v = 0; v < whole.size(); ++v) {
      std::int64_t first = 0;
      for (std::size_t i = 0; i < batch_.size(); ++i) {
        keeps_memory[v].push_back(has_memory_for(i, v, whole[v]));
        if (!keeps_memory[v][i]) replace(i, v, whole[v], first, made[i]);
        first += batch_[i]->rows;
      }
    }
    for (std::size_t v = 0; v < whole.size(); ++v) copy_rows(v, whole[v], keeps_memory[v]);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      if (!made[i].variables.empty())
        batch_[i]->state->assign(made[i].variables, std::move(made[i].values), /*separates=*/false);
    }
  }

 private:
  struct New {
    std::vector<std::size_t> variables;
    std::vector<c10::IValue> values;
  };

  const c10::IValue& own(std::size_t request, std::size_t v) const {
    return batch_[request]->state->values().variables()[v];
  }

  c10::IValue join(std::size_t v) const {
    const c10::IValue& first = own(0, v);
    if (first.isTensor() && first.toTensor().defined()) {
      return join_rows(
          batch_.size(), [&](std::size_t i) -> const at::Tensor& { return own(i, v).toTensor(); }, dims_[v],
          filled_rows_);
    }
    if (first.isInt() && calls_.row_counts->has(v) && first.toInt() == batch_[0]->rows) return filled_rows_;
    std::vector<std::vector<at::Tensor>> parts(batch_.size());
    for (std::size_t i = 0; i < batch_.size(); ++i)
      each_tensor(own(i, v), [&](const at::Tensor& tensor) { parts[i].push_back(tensor); });
    std::size_t next = 0;
    return with_tensors(first, [&](const at::Tensor&) {
      const std::size_t leaf = next++;
      return join_rows(
          batch_.size(), [&](std::size_t i) -> const at::Tensor& { return parts[i][leaf]; }, dims_[v],
          filled_rows_);
    });
  }

  void require_rows(std::size_t v, const at::Tensor& tensor) const {
    if (dims_[v] < tensor.dim() && tensor.size(dims_[v]) == filled_rows_) return;
    const std::string& name = calls_.variables[v];
    throw UnsupportedOpError("The variable '" + name + "' has the sizes " + c10::str(tensor.sizes()) +
                             " after a call of " + std::to_string(filled_rows_) +
                             " rows, and no rows along dimension " + std::to_string(dims_[v]) +
                             ". state_dims says where they lie.");
  }

  // True if the rows can be copied into the tensor that the request's state has, which shares no memory.
  bool has_memory_for(std::size_t i, std::size_t v, const c10::IValue& whole) const {
    if (!whole.isTensor() || !own(i, v).isTensor()) return false;
    const at::Tensor &from = whole.toTensor(), &to = own(i, v).toTensor();
    if (!from.defined() || !to.defined() || from.scalar_type() != to.scalar_type() ||
        !is_contiguous_memory(from) || !is_contiguous_memory(to))
      return false;
    const at::IntArrayRef given = from.sizes(), has = to.sizes();
    if (given.size() != has.size()) return false;
    for (std::size_t d = 0; d < has.size(); ++d) {
      const bool is_dim = d == static_cast<std::size_t>(dims_[v]);
      if (has[d] != (is_dim ? batch_[i]->rows : given[d])) return false;
    }
    return true;
  }

  void copy_rows(std::size_t v, const c10::IValue& whole, const std::vector<bool>& keeps_memory) const {
    if (!whole.isTensor() || !whole.toTensor().defined()) return;
    const RowCopies copy(whole.toTensor(), dims_[v]);
    const void* const from = whole.toTensor().const_data_ptr();
    std::int64_t first = 0;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const std::int64_t rows = batch_[i]->rows;
      if (keeps_memory[i])
        copy(own(i, v).toTensor().mutable_data_ptr(), rows, 0, from, filled_rows_, first, rows);
      first += rows;
    }
  }

  // Adds the new value of a variable to `made`, unless the request's state has it.
  void replace(std::size_t i, std::size_t v, const c10::IValue& whole, std::int64_t first, New& made) const {
    const std::int64_t rows = batch_[i]->rows;
    c10::IValue value = with_tensors(
        whole, [&](const at::Tensor& tensor) { return take_rows(tensor, dims_[v], first, rows); });
    if (is_filled(whole) && calls_.row_counts->has(v)) value = rows;
    if (value.isInt() && own(i, v).isInt() && value.toInt() == own(i, v).toInt()) return;
    made.variables.push_back(v);
    made.values.push_back(std::move(value));
  }

  bool is_filled(const c10::IValue& value) const { return value.isInt() && value.toInt() == filled_rows_; }

  static bool has_number(const c10::IValue& value, std::int64_t number) {
    if (value.isInt()) return value.toInt() == number;
    const auto in_any = [&](const auto& elements) {
      return std::ranges::any_of(elements,
                                 [&](const c10::IValue& element) { return has_number(element, number); });
    };
    if (value.isList()) return in_any(value.toListRef());
    return value.isTuple() && in_any(value.toTupleRef().elements());
  }

  // True if the values agree in everything but tensors.
  static bool are_same_numbers(const c10::IValue& a, const c10::IValue& b) {
    const auto are_all = [](const auto& some, const auto& others) {
      return std::ranges::equal(some, others, [](const c10::IValue& one, const c10::IValue& other) {
        return are_same_numbers(one, other);
      });
    };
    if (a.isTensor() || b.isTensor()) return a.isTensor() && b.isTensor();
    if (a.isList() && b.isList()) return are_all(a.toListRef(), b.toListRef());
    if (a.isTuple() && b.isTuple()) return are_all(a.toTupleRef().elements(), b.toTupleRef().elements());
    replay::SignatureWords words, of_other;
    return replay::detail::describe(a, words) && replay::detail::describe(b, of_other) && words == of_other;
  }

  const BatchedCalls& calls_;
  const std::vector<std::int64_t>& dims_;
  const Batch& batch_;
  std::int64_t filled_rows_;
};

}  // namespace sr::detail
