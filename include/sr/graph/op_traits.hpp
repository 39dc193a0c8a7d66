// What the library may assume of an op, beyond its schema.
#pragma once

#include <cstdint>

namespace sr {

struct OutTraits {
  // A native op whose results are new tensors, never an input or a view of one, even if its schema does not
  // say so.
  bool makes_new_tensor = false;
  // The sizes of the outputs depend on data (nonzero): the outputs are always shrunk before the call.
  bool data_dependent_shape = false;
  // The kernel gives an output that was shrunk to no elements the same strides as the functional call would,
  // whatever the strides of the inputs (structured kernels, TensorIterator). If false, that is assumed only
  // where inputs and outputs have standard strides.
  bool keeps_strides = false;
  // Position of the tensor input whose bytes output 0 may overwrite if the input's lifetime ends there and
  // both have the same dtype, sizes and strides; -1 if there is none. Only for pointwise ops on inputs that
  // broadcast.
  std::int8_t writes_in_place = -1;
};

}  // namespace sr
