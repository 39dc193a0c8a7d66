// Copies, compares and visits values, for the oracle.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/oracle.hpp"

namespace sr::test {

// Each tensor, defined or not, depth first.
template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) each_tensor(element, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) each_tensor(element, visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) each_tensor(entry.value(), visit);
  }
}

// Where two values first differ; empty if they are equal. `path` names them in the message.
std::string compare_values(const c10::IValue& expected, const c10::IValue& actual,
                           const OracleOptions& options, const std::string& path);

// For each tensor of inputs and result: its storage, numbered by first appearance, and its offset.
using Sharing = std::vector<std::pair<std::size_t, std::int64_t>>;
Sharing sharing(const InputSet& inputs, const c10::IValue& result);
std::string show(const Sharing& pattern);

// Reference counts of the tensors and storages of the inputs, and of the result if `of_result`.
std::vector<std::size_t> references(const InputSet& inputs, const c10::IValue& result, bool of_result);

bool has_storage(const at::Tensor& tensor);

}  // namespace sr::test
