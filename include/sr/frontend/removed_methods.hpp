// Frees the code of private clones of a module.
#pragma once

#include <initializer_list>
#include <memory>
#include <set>
#include <string>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>

namespace sr::detail {

// LibTorch registers the methods of a clone in the compilation unit of the original module, which would keep
// them as long as that module lives. The clones must not be called afterwards, and call stacks of nodes that
// were inlined from the methods point to functions that are gone.
inline void remove_methods(std::initializer_list<torch::jit::Module> clones) {
  std::set<std::string> names;  // all before the first one goes: clones may share types
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  for (const torch::jit::Module& clone : clones) {
    unit = clone._ivalue()->compilation_unit();
    for (const torch::jit::Module& module : clone.modules()) {
      for (const torch::jit::Function* const method : module.type()->methods())
        names.insert(method->qualname().qualifiedName());
    }
  }
  for (const std::string& name : names) {
    if (unit->find_function(name) != nullptr) unit->unsafeRemoveMethod(name);
  }
}

}  // namespace sr::detail
