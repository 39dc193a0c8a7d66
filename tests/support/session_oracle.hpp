// Computes the expected results and state of a model with state: runs the interpreter on a copy of the module
// for each stream of calls.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/base/identity.hpp>

#include "support/oracle.hpp"
#include "support/values.hpp"

namespace sr::test {

// Applies two rules in which sr differs from the interpreter: an attribute that a call assigns shares no
// memory with arguments, weights or results, and a call that throws does not change the state.
class SessionOracle {
 public:
  explicit SessionOracle(const torch::jit::Module& module) : module_(copy(module)) {}

  // Returns the result, or nullopt if the call throws.
  std::optional<c10::IValue> operator()(const InputSet& inputs) {
    const at::NoGradGuard no_grad;
    const torch::jit::Module before = copy(module_);
    const std::vector<c10::IValue> old = attributes(module_);
    try {
      c10::IValue result = module_.forward(copy_inputs(inputs));
      result = copy_inputs({result})[0];
      separate(old);
      return result;
    } catch (const std::exception&) {
      module_ = before;
      return std::nullopt;
    }
  }

  const torch::jit::Module& module() const { return module_; }
  // Returns the values of the attributes that `like` names.
  std::map<std::string, c10::IValue> state(const std::map<std::string, c10::IValue>& like) const {
    std::map<std::string, c10::IValue> values;
    for (const auto& [name, value] : like) values.emplace(name, attribute(name));
    return values;
  }
  // Returns the value of an attribute such as "layer.hidden".
  c10::IValue attribute(const std::string& name) const {
    c10::IValue value = module_._ivalue();
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
      end = name.find('.', at);
      value = value.toObjectRef().getAttr(name.substr(at, end == std::string::npos ? end : end - at));
    }
    return value;
  }

 private:
  // Returns a deep copy. Its tensors share memory with each other where those of the module do.
  static torch::jit::Module copy(const torch::jit::Module& module) {
    const std::unordered_set<const void*> nothing;
    sr::detail::FreshCopies copies(nothing);
    return torch::jit::Module(copies.copy_object(module._ivalue(), /*copies_tensors=*/true).toObject());
  }

  static std::vector<c10::IValue> attributes(const torch::jit::Module& module) {
    std::vector<c10::IValue> all;
    for (const torch::jit::Module& part : module.modules()) {
      for (std::size_t i = 0; i < part.type()->numAttributes(); ++i) {
        if (!part._ivalue()->getSlot(i).isObject()) all.push_back(part._ivalue()->getSlot(i));
      }
    }
    return all;
  }

  // Copies the values that the call has assigned, unless they are memory of the state already.
  void separate(const std::vector<c10::IValue>& old) {
    std::unordered_set<const void*> of_state, others;
    for (const c10::IValue& value : old) sr::detail::add_identities(value, of_state);
    for (const at::Tensor& parameter : module_.parameters())
      of_state.erase(sr::detail::storage_of(parameter));
    const std::vector<c10::IValue> now = attributes(module_);
    for (const c10::IValue& value : now) sr::detail::add_identities(value, others);
    for (const void* const identity : of_state) others.erase(identity);
    for (const at::Tensor& parameter : module_.parameters()) others.insert(sr::detail::storage_of(parameter));
    sr::detail::FreshCopies copies(others);
    std::size_t at = 0;
    for (const torch::jit::Module& part : module_.modules()) {
      for (std::size_t i = 0; i < part.type()->numAttributes(); ++i) {
        if (part._ivalue()->getSlot(i).isObject()) continue;
        if (!now[at].is(old[at])) part._ivalue()->setSlot(i, copies(now[at]));
        ++at;
      }
    }
  }

  torch::jit::Module module_;
};

// Returns the first difference between the values and the attributes of the oracle's module with the same
// names. Returns an empty string if there is none.
inline std::string compare_state(const SessionOracle& oracle, const std::map<std::string, c10::IValue>& state,
                                 const OracleOptions& options) {
  for (const auto& [name, value] : state) {
    const std::string difference = compare_values(oracle.attribute(name), value, options, name);
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace sr::test
