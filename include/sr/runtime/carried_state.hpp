// The state of models that take it as arguments and return the new state, as an LSTM cell does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/module/row_counts.hpp>
#include <sr/module/session_state.hpp>

namespace sr {

// By name of an argument: the position of the result that is its value in the next call.
using CarriedResults = std::map<std::string, std::size_t>;

namespace detail {

// Turns calls of a session, which give neither the carried arguments nor get the carried results, into calls
// of the model. Immutable; shared by the copies of a session.
class CarriedState {
  struct Nothing {
    void operator()(const c10::IValue&) const {}
  };

 public:
  // Throws ArgumentError if the model has no such argument or result, or if a result is carried twice.
  CarriedState(const c10::FunctionSchema& schema, const CarriedResults& carried)
      : of_model_(schema), schema_(schema) {
    for (const auto& [name, result] : carried) {
      const auto argument = schema.argumentIndexWithName(name);
      if (!argument) {
        throw ArgumentError("The model has no argument '" + name + "' that could be carried; it is " +
                                signature_of(schema) + ".",
                            name);
      }
      arguments_.push_back(static_cast<std::size_t>(*argument));
      results_.push_back(result);
    }
    narrow();
    row_counts_ = std::make_shared<RowCounts>(count());
  }

  // Which carried arguments hold the batch size; locks itself.
  const std::shared_ptr<RowCounts>& row_counts() const { return row_counts_; }
  // The schema of a session's calls.
  const c10::FunctionSchema& schema() const { return schema_; }
  // True if both carry the same arguments from the same results.
  bool is_like(const CarriedState& other) const {
    return arguments_ == other.arguments_ && results_ == other.results_;
  }
  // The carried arguments, in the order of their values in a state.
  std::size_t count() const { return arguments_.size(); }
  const c10::Argument& argument(std::size_t i) const { return of_model_.arguments()[arguments_[i]]; }

  // Returns the state of a new session: the defaults of the arguments, or None for "no value yet".
  StateValues first() const {
    std::vector<c10::IValue> values;
    for (std::size_t i = 0; i < count(); ++i)
      values.push_back(argument(i).default_value().value_or(c10::IValue()));
    return StateValues(std::move(values)).copy();
  }
  bool has_value(std::size_t i, const c10::IValue& value) const {
    return !value.isNone() || c10::NoneType::get()->isSubtypeOf(*argument(i).type());
  }
  // Throws ArgumentError if the argument cannot have the value.
  void check(std::size_t i, const c10::IValue& value) const {
    check_argument(of_model_, arguments_[i], value);
  }

  // Returns the arguments of the model for those of a session's call. Throws ArgumentError if a carried
  // argument has no value yet.
  std::vector<c10::IValue> complete(std::vector<c10::IValue> given, const StateValues& state) const {
    std::vector<c10::IValue> all(of_model_.arguments().size());
    for (std::size_t i = 0; i < count(); ++i) {
      all[arguments_[i]] = state.variables()[i];
      if (has_value(i, all[arguments_[i]])) continue;
      const std::string& name = argument(i).name();
      throw ArgumentError("The argument '" + name +
                              "', which the session carries, has no value yet. Give it its " +
                              "first value: load().",
                          name);
    }
    for (std::size_t i = 0; i < given.size(); ++i) all[given_[i]] = std::move(given[i]);
    return all;
  }

  // Makes the carried results the new state, and returns the others. Calls finish(others) before: if it
  // throws, the state is as it was.
  template <class Finish = Nothing>
  c10::IValue keep(c10::IValue result, SessionState& state, const Finish& finish = {}) const {
    std::vector<c10::IValue> elements = elements_of(std::move(result)), values(count()), rest;
    for (std::size_t i = 0; i < count(); ++i) values[i] = std::move(elements[results_[i]]);
    for (const std::size_t i : returned_) rest.push_back(std::move(elements[i]));
    c10::IValue others = join_results(std::move(rest));
    finish(others);
    StateValues made(std::move(values));
    state.restore(std::ranges::all_of(made.variables(), is_alone) ? std::move(made) : made.copy());
    return others;
  }

  // Calls run(arguments), which calls the model, and then finish() as keep() does. `holds_state` says that
  // the caller holds a StateUse.
  template <class Run, class Finish = Nothing>
  c10::IValue call(SessionState& state, std::vector<c10::IValue> given, bool holds_state, const Run& run,
                   const Finish& finish = {}) const {
    std::optional<StateUse> use;
    if (!holds_state) use.emplace(&state);
    return keep(run(complete(std::move(given), state.values())), state, finish);
  }

 private:
  // Returns true if there is no other reference to the value, to its elements or to their memory.
  static bool is_alone(const c10::IValue& value) {
    if (!value.isPtrType()) return true;
    if (value.use_count() != 1) return false;
    if (value.isTensor())
      return value.toTensor().has_storage() && value.toTensor().storage().use_count() == 1;
    return value.isTuple() && std::ranges::all_of(value.toTupleRef().elements(), is_alone);
  }

  std::vector<c10::TypePtr> types_of_results() {
    std::vector<c10::TypePtr> types;
    for (const c10::Argument& result : of_model_.returns()) types.push_back(result.type());
    if (types.size() != 1 || types[0]->kind() != c10::TypeKind::TupleType) return types;
    is_tuple_ = true;
    return types[0]->containedTypes().vec();
  }

  std::vector<c10::IValue> elements_of(c10::IValue result) const {
    if (!is_tuple_) return {std::move(result)};
    auto tuple = std::move(result).toTuple();
    if (tuple.use_count() > 1) return tuple->elements().vec();
    return std::move(*tuple).elements().vec();
  }

  // Makes the schema of a session's calls.
  void narrow() {
    std::vector<c10::Argument> arguments;
    for (std::size_t i = 0; i < of_model_.arguments().size(); ++i) {
      if (std::ranges::find(arguments_, i) != arguments_.end()) continue;
      given_.push_back(i);
      arguments.push_back(of_model_.arguments()[i]);
    }
    const std::vector<c10::TypePtr> types = types_of_results();
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_[i] < types.size() && std::ranges::count(results_, results_[i]) == 1) continue;
      throw ArgumentError("The argument '" + argument(i).name() + "' cannot carry result " +
                              std::to_string(results_[i]) + ": the model has " +
                              std::to_string(types.size()) + " results, and each can be carried once.",
                          argument(i).name());
    }
    std::vector<c10::TypePtr> rest;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (std::ranges::find(results_, i) != results_.end()) continue;
      returned_.push_back(i);
      rest.push_back(types[i]);
    }
    const c10::TypePtr result = rest.empty()       ? c10::TypePtr(c10::NoneType::get())
                                : rest.size() == 1 ? rest[0]
                                                   : c10::TypePtr(c10::TupleType::create(std::move(rest)));
    schema_ = c10::FunctionSchema(of_model_.name(), of_model_.overload_name(), std::move(arguments),
                                  {c10::Argument("", result)});
  }

  c10::FunctionSchema of_model_;
  c10::FunctionSchema schema_;
  std::vector<std::size_t> arguments_, results_;  // carried: positions in calls of the model
  std::vector<std::size_t> given_, returned_;     // the others
  bool is_tuple_ = false;                         // the result of the model
  std::shared_ptr<RowCounts> row_counts_;
};

}  // namespace detail

}  // namespace sr
