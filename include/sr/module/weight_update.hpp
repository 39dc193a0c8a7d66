// Weights from a state_dict: which of a module's weights it replaces, and the copies that replace them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/InferenceMode.h>

#include <sr/base/error.hpp>
#include <sr/base/state_dict.hpp>
#include <sr/frontend/state_entry.hpp>
#include <sr/module/weight_set.hpp>

namespace sr::detail {

// Returns "'a', 'b' and 3 more", with at most `shown` of the names.
inline std::string quoted(const std::vector<std::string>& names, std::size_t shown = 5) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() <= shown ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

// Throws ArgumentError if the tensor cannot replace the weight.
inline void check_update(const std::string& name, const at::Tensor& weight, const at::Tensor& given) {
  const auto reject = [&](const std::string& what) {
    throw ArgumentError("update() was given " + what + " for the weight '" + name + "', which has the type " +
                        c10::str(weight.scalar_type()) + " and the sizes " + c10::str(weight.sizes()) + ".");
  };
  if (!given.defined()) reject("an undefined tensor");
  if (given.is_nested() || given.layout() != at::kStrided || given.is_meta())
    reject("a tensor that is not dense or has no values");
  if (given.sizes() != weight.sizes()) reject("a tensor of the sizes " + c10::str(given.sizes()));
  const bool is_quantized = weight.is_quantized() || given.is_quantized();
  if (is_quantized ? given.scalar_type() != weight.scalar_type()
                   : !c10::canCast(given.scalar_type(), weight.scalar_type()))
    reject("a tensor of the type " + c10::str(given.scalar_type()));
}

// A copy with the dtype of the weight and, where they are dense, its strides.
inline at::Tensor copy_for(const at::Tensor& weight, const at::Tensor& given) {
  // The copy must count its versions, and may be made inside of inference mode.
  const c10::InferenceMode counted(false);
  const at::NoGradGuard no_grad;
  if (given.is_quantized())
    return given.detach().to(at::kCPU, given.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  return at::empty_like(weight.detach()).copy_(given.detach());
}

// Throws ArgumentError if a given name is unknown, or if parameters are missing.
inline void check_names(const std::vector<StateEntry>& state, const StateDict& given,
                        const std::vector<std::string>& missing) {
  std::unordered_set<std::string_view> known;
  for (const StateEntry& entry : state) known.insert(entry.name);
  std::vector<std::string> unknown;
  for (const auto& [name, tensor] : given) {
    if (known.count(name) == 0) unknown.push_back(name);
  }
  if (unknown.empty() && missing.empty()) return;
  std::ranges::sort(unknown);
  std::string message = "update() was given a state_dict of another model:";
  if (!unknown.empty()) message += " the module has no parameter or buffer " + quoted(unknown) + ";";
  if (!missing.empty()) message += " the parameters " + quoted(missing) + " are missing;";
  message.back() = '.';
  throw ArgumentError(message + " With strict = false, it replaces the weights that it is given.");
}

// The weights with sources that are copies of the given tensors. Weights that share their elements stay
// tied: a name that is not given takes the value of a tied one. `strict` and what is thrown: see
// StaticModule::update.
inline std::vector<Weight> updated_weights(const std::vector<Weight>& weights,
                                           const std::optional<std::vector<StateEntry>>& state,
                                           const StateDict& given, bool strict) {
  if (!state) {
    throw ArgumentError(
        "The weights of this module cannot be updated by name: they were folded when it was made, or it was "
        "made of a graph, where they have no names. Load a file with the option updatable_weights, and leave "
        "out freeze_weights.");
  }
  const auto identity_of = [&](const StateEntry& entry) {
    return identity_of_elements(weights[entry.weight].source.now().toTensor());
  };
  std::vector<Weight> updated = weights;
  std::map<std::pair<TensorIdentity, TensorIdentity>, at::Tensor> copies;  // by weight and given tensor
  std::map<TensorIdentity, at::Tensor> tied;
  std::vector<const StateEntry*> not_given;
  for (const StateEntry& entry : *state) {
    const auto found = given.find(entry.name);
    if (entry.use == StateEntry::Use::unused) continue;
    if (found == given.end()) {
      if (entry.use == StateEntry::Use::followed) not_given.push_back(&entry);
      continue;
    }
    if (entry.use == StateEntry::Use::fixed) {
      throw ArgumentError("The weight '" + entry.name +
                          "' cannot be updated: the model writes it, so that it is state (Session::load sets "
                          "it), or computes with it in a way that sr does not follow, and holds a copy.");
    }
    WeightSource& source = updated[entry.weight].source;
    const at::Tensor weight = source.now().toTensor();
    check_update(entry.name, weight, found->second);
    const TensorIdentity identity = identity_of(entry);
    at::Tensor& copy = copies[{identity, identity_of_elements(found->second)}];
    if (!copy.defined()) copy = copy_for(weight, found->second);
    tied.try_emplace(identity, copy);
    source = source.replaced_by(copy);
  }
  std::vector<std::string> missing;
  for (const StateEntry* entry : not_given) {
    const auto found = tied.find(identity_of(*entry));
    if (found != tied.end()) {
      updated[entry->weight].source = updated[entry->weight].source.replaced_by(found->second);
    } else if (entry->is_parameter) {
      missing.push_back(entry->name);
    }
  }
  if (strict) check_names(*state, given, missing);
  return updated;
}

}  // namespace sr::detail
