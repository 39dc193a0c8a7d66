// The methods of a TorchScript module besides `forward`, which run on the state of the module.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include <sr/base/fork_safe_mutex.hpp>
#include <sr/frontend/hidden_weights.hpp>

namespace sr {

struct PreparedModule;

// Thread-safe.
class ModuleMethods {
 public:
  // Keeps the module alive. `owner` says who may change its weights.
  ModuleMethods(torch::jit::Module source, WeightOwner owner) : source_(std::move(source)), owner_(owner) {}

  const torch::jit::Module& source() const { return source_; }
  WeightOwner owner() const { return owner_; }

  // Returns the names in the order of the module, without those of Python's protocols (`__getstate__`).
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const torch::jit::Method& method : source_.get_methods()) {
      if (method.name() != "forward" && !method.name().starts_with("__")) names.push_back(method.name());
    }
    return names;
  }

  // Returns the method as a module. make() prepares it when it is asked for first; what that throws is thrown
  // each time.
  template <class Make>
  std::shared_ptr<const PreparedModule> prepared(const std::string& name, const Make& make) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const PreparedModule>& known = prepared_[name];
    if (known == nullptr) known = make();
    return known;
  }

  // Calls visit(module) for each method that was prepared.
  template <class Visit>
  void each(const Visit& visit) {
    std::vector<std::shared_ptr<const PreparedModule>> modules;
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [name, module] : prepared_) {
        if (module != nullptr) modules.push_back(module);
      }
    }
    for (const auto& module : modules) visit(*module);
  }

 private:
  torch::jit::Module source_;
  WeightOwner owner_;
  detail::ForkSafeMutex mutex_;
  std::map<std::string, std::shared_ptr<const PreparedModule>> prepared_;
};

}  // namespace sr
