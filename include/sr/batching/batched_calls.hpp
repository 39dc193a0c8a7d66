// What a batch needs to know of the calls that it joins.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>

#include <sr/module/prepared_module.hpp>
#include <sr/module/row_counts.hpp>
#include <sr/runtime/carried_state.hpp>

namespace sr::detail {

struct BatchedCalls {
  c10::FunctionSchema schema;
  std::vector<std::string> variables;  // names, in the order of their values in a state
  std::shared_ptr<RowCounts> row_counts;
  bool has_state = false;  // each call is one of a session
  bool may_join = true;    // calls change no list or dictionary of their arguments

  // Calls of the module, or of its sessions if it has state.
  static BatchedCalls of(const PreparedModule& module) {
    BatchedCalls calls{
        module.schema, {}, module.row_counts, module.state != nullptr, module.changed_inputs.empty()};
    for (const StateVariable& variable : module.variables) calls.variables.push_back(variable.source.name());
    return calls;
  }
  // Calls of sessions that carry arguments.
  static BatchedCalls of(const CarriedState& carried) {
    BatchedCalls calls{carried.schema(), {}, carried.row_counts(), true};
    for (std::size_t i = 0; i < carried.count(); ++i) calls.variables.push_back(carried.argument(i).name());
    return calls;
  }
};

}  // namespace sr::detail
