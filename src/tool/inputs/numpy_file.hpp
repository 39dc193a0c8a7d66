// Arrays in files of NumPy: .npy of numpy.save, .npz of numpy.savez and numpy.savez_compressed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/TensorBody.h>

namespace sr::tool {

struct NamedArray {
  std::string name;  // in an .npz, without the ending; empty of an .npy
  at::Tensor value;  // owns its memory
};

// True if the bytes are those of an .npy, or of a zip archive whose records are.
bool is_numpy_file(std::span<const std::byte> bytes, const std::string& file);

// The arrays in the order of the file. Throws LoadError for damaged files, and for arrays of objects, of
// strings, of other byte orders or of dtypes that tensors do not have. `file` is its name in errors.
std::vector<NamedArray> read_numpy(std::span<const std::byte> bytes, const std::string& file);

}  // namespace sr::tool
