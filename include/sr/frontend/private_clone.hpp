// Clones a module into a separate compilation unit.
#pragma once

#include <cstddef>
#include <memory>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>

namespace sr::detail {

// Returns an object of the same class with the same attributes, except that submodules are such objects, too.
// The object belongs to `unit`.
inline c10::intrusive_ptr<c10::ivalue::Object> object_in(
    const std::shared_ptr<torch::jit::CompilationUnit>& unit, const c10::ivalue::Object& of) {
  const std::size_t count = of.slots().size();
  auto made = c10::ivalue::Object::create(c10::StrongTypePtr(unit, of.type()), count);
  for (std::size_t i = 0; i < count; ++i) {
    const c10::IValue& attribute = of.getSlot(i);
    const bool is_module = attribute.isObject() && attribute.toObjectRef().type()->is_module();
    made->setSlot(i, is_module ? c10::IValue(object_in(unit, attribute.toObjectRef())) : attribute);
  }
  return made;
}

// Returns a clone with its own objects and the same tensors. LibTorch registers the types and methods of a
// clone in the compilation unit of the objects, which nothing guards against other threads: all modules that
// Python has scripted share one. The clone has its own unit, which its objects and functions keep, so that
// any number of threads may clone modules that share code.
inline torch::jit::Module private_clone(const torch::jit::Module& module) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  return torch::jit::Module(object_in(unit, *module._ivalue())).clone(/*inplace=*/true);
}

}  // namespace sr::detail
