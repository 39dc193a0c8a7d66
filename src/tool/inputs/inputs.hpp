// Arguments of a model from a file or from a short description, and its results into a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>

#include "../../values/conform.hpp"

namespace sr::tool {

using values::conform;

using ArgumentList = std::vector<c10::IValue>;

// Input sets that share no tensor with the given ones.
inline std::vector<ArgumentList> own_copies(const std::vector<ArgumentList>& sets) {
  std::vector<ArgumentList> copies(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const c10::IValue& value : sets[i]) copies[i].push_back(value.deepcopy());
  }
  return copies;
}

// Reads what Python's torch.save wrote: the positional arguments of one call as a list or tuple, or a list of
// such lists, one per call. It is a list of calls if it is not empty and all its elements are lists or
// tuples. Or reads the arrays that NumPy wrote, the arguments of one call: by position from an .npy and from
// an .npz whose arrays are arr_0, arr_1 and so on, else by name. `names` are those of the model's arguments.
// Throws LoadError.
std::vector<ArgumentList> read_input_sets(const std::string& path,
                                          const std::vector<std::string>& names = {});

// Writes a list that torch.load reads in Python, with weights_only or without. Throws LoadError if the file
// cannot be written, ArgumentError for a value that Python could not read.
void write_values(const std::string& path, const std::vector<c10::IValue>& outputs);

// "f32[8,50]" is normally distributed, "i64[8]:0..999" and "f32[2,3]:0..1" are uniform with both ends, an
// integer tensor without a range has digits; also "int:5", "float:0.5", "bool:true", "str:abc", "none". An
// undefined generator stands for the default one. Throws ArgumentError.
c10::IValue random_argument(std::string_view spec, at::Generator generator);

}  // namespace sr::tool
