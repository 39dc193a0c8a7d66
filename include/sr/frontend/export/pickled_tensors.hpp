// torch.export.save pickles weights that are instances of a Python subclass of torch.Tensor, such as
// torchao's quantized weights; that of PyTorch 2.8 pickles all weights. This file reads the plain tensors in
// such a pickle, by their names or those of the attributes that hold them, and runs nothing of it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/custom_class.h>

#include <sr/frontend/export/program.hpp>
#include <sr/frontend/pickle/reader.hpp>

namespace sr::exported {

namespace detail {

struct PythonObject : torch::CustomClassHolder {};

// What a call of Python's stands for: the attributes of a tensor that wraps others, or an object of no
// meaning.
inline c10::IValue of_python(const sr::detail::PickleReader& reader, const std::string& name,
                             const std::vector<c10::IValue>& arguments) {
  if (name == "torch._tensor._rebuild_from_type_v2" && arguments.size() == 4 && arguments[2].isTuple()) {
    const std::string function = reader.global_name(arguments[0]);
    if (function == "torch._utils._rebuild_wrapper_subclass") return arguments[3];
    return reader.call(function, arguments[2].toTupleRef().elements().vec());
  }
  return c10::IValue::make_capsule(c10::make_intrusive<PythonObject>());
}

inline void add_parts(const std::string& name, const c10::IValue& value, int depth, Tensors& tensors) {
  constexpr int kDeepest = 8;
  if (value.isTensor()) {
    tensors.insert_or_assign(name, value.toTensor());
  } else if (value.isGenericDict() && depth < kDeepest) {
    for (const auto& item : value.toGenericDict()) {
      if (item.key().isString())
        add_parts(name + "." + item.key().toStringRef(), item.value(), depth + 1, tensors);
    }
  }
}

}  // namespace detail

// Adds a tensor, or those inside an object as "name.attribute". Throws LoadError where the pickle is damaged.
inline void add_pickled(const std::string& name, std::span<const std::byte> bytes, const std::string& where,
                        Tensors& tensors) {
  const sr::detail::PickleArchive archive(bytes, where, {"The pickle of " + where + " cannot be read", ""});
  sr::detail::PickleReader reader(archive, &detail::of_python);
  detail::add_parts(name, reader.read(), 0, tensors);
}

// Adds the tensors of a pickled dictionary by its keys. Throws LoadError where the pickle is damaged.
inline void add_pickled_by_name(std::span<const std::byte> bytes, const std::string& where,
                                Tensors& tensors) {
  const sr::detail::PickleArchive archive(bytes, where, {"The pickle of " + where + " cannot be read", ""});
  sr::detail::PickleReader reader(archive, &detail::of_python);
  const c10::IValue values = reader.read();
  if (!values.isGenericDict()) archive.reject("it holds no dictionary of tensors");
  for (const auto& item : values.toGenericDict()) {
    if (item.key().isString()) detail::add_parts(item.key().toStringRef(), item.value(), 0, tensors);
  }
}

}  // namespace sr::exported
