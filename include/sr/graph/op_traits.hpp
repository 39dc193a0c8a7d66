// What the library may assume of an op, beyond its schema.
#pragma once

#include <cstdint>

namespace sr {

struct OutTraits {
  // A native op whose results are new tensors, never an input or a view of one, even if its schema does not
  // say so.
  bool makes_new_tensor = false;
  // The sizes of the outputs depend on data (nonzero): always shrink the outputs before the call.
  bool data_dependent_shape = false;
  // The kernel gives an output that was shrunk to no elements the strides the functional call would give it,
  // whatever the strides of the inputs (structured kernels, TensorIterator). Without it that is only assumed
  // when inputs and outputs have standard strides.
  bool keeps_strides = false;
  // Position of the tensor input whose bytes output 0 may overwrite when the input dies there and both have
  // the same dtype, sizes and strides; -1: none. Only for ops that work element by element on broadcast
  // inputs.
  std::int8_t writes_in_place = -1;
};

}  // namespace sr
