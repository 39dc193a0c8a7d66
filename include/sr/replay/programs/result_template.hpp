// The parts of a results template: tensors, and the containers around them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <sr/replay/sizes/values.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A storage of the results that each call allocates: written by steps, or a copy of a literal.
struct FreshStorage {
  StorageId storage = kNone;
  Size bytes_of;
  const void* copy_of = nullptr;
  std::size_t bytes = 0;  // in this call

  void settle(SizeValues& values) { bytes = values.count(bytes_of); }
};

struct ResultTensor {
  enum class From : std::uint8_t {
    fresh,          // on a fresh storage, index `from`
    argument,       // the argument itself: leaf `from`
    view,           // of argument `from`
    constant,       // of the module
    constant_view,  // of such a constant
    opaque          // of an interpreted node: a tensor on its storage
  };
  From kind = From::fresh;
  std::uint32_t from = 0;
  at::ScalarType dtype = at::kFloat;
  TensorLayout layout;  // its offset is from the start of the storage; of views from the argument's first
  at::Tensor constant;
  bool is_whole = false;  // opaque: the tensor the node returned, not a view of it
  bool is_alone = false;  // fresh: no other tensor uses its storage, which it fills contiguously
  // In this call:
  Numbers sizes, strides;
  std::int64_t offset = 0;

  void settle(SizeValues& values) {
    values.fill(layout.sizes, sizes);
    values.fill(layout.strides, strides);
    offset = values(layout.offset);
  }
};

// A tree in depth-first order. A tensor or container that the recorded call returned twice is returned twice.
struct ResultNode {
  // given: a list or dictionary of the arguments
  enum class Kind : std::uint8_t { tensor, literal, dynamic, tuple, list, dict, again, given };
  Kind kind = Kind::literal;
  // An index in `tensors`, a ValueId, the index of an earlier node, or the position of a given container in
  // the order of each_container.
  std::uint32_t index = 0;
  std::uint32_t children = 0;
  c10::IValue literal;
  Size number;                    // the integer that a literal is, if it differs between calls
  c10::TypePtr type, value_type;  // of tuples, list elements, keys and values
};

}  // namespace sr::replay
