// Inputs that NumPy wrote.
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/error.hpp>

#include "../src/tool/inputs/inputs.hpp"
#include "support/catch.hpp"
#include "support/tool.hpp"

namespace sr::test::tool_numpy_file_tests {

using sr::tool::read_input_sets;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string error_of(const std::string& path, const std::vector<std::string>& names = {"x", "y"}) {
  try {
    read_input_sets(path, names);
  } catch (const LoadError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  CAPTURE(text, part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("arrays saved by NumPy are read", "[tool]") {
  const Folder folder;
  if (!python(folder, R"(
import numpy as np
a = np.arange(24).reshape(2, 3, 4)
for name in 'float16', 'float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'bool', 'complex64':
    np.save(name, a.astype(name))
np.save('fortran', np.asfortranarray(a.astype('float32')))
np.save('number', np.float32(2.5))
np.save('empty', np.zeros((0, 3), 'int64'))
np.save('view', a.astype('float32')[:, ::2].transpose(2, 0, 1))
np.savez('positions', a.astype('float32'), np.array([1, 2]))
np.savez_compressed('names', y=np.array([1, 2]), x=np.zeros((500, 50), 'float32'))
)")) {
    return;
  }
  const at::Tensor a = torch::arange(24).reshape({2, 3, 4});
  const auto one = [&](const std::string& name) {
    const auto sets = read_input_sets(folder.file(name + ".npy"), {"x", "y"});
    REQUIRE(sets.size() == 1);
    REQUIRE(sets[0].size() == 1);
    return sets[0][0].toTensor();
  };
  for (const auto& [name, dtype] :
       std::vector<std::pair<std::string, at::ScalarType>>{{"float16", at::kHalf},
                                                           {"float32", at::kFloat},
                                                           {"float64", at::kDouble},
                                                           {"int8", at::kChar},
                                                           {"int16", at::kShort},
                                                           {"int32", at::kInt},
                                                           {"int64", at::kLong},
                                                           {"uint8", at::kByte},
                                                           {"bool", at::kBool},
                                                           {"complex64", at::kComplexFloat}}) {
    CAPTURE(name);
    CHECK(one(name).scalar_type() == dtype);
    CHECK(one(name).equal(a.to(dtype)));
  }
  CHECK(one("fortran").equal(a.to(at::kFloat)));
  CHECK(one("fortran").strides() == at::IntArrayRef({1, 2, 6}));
  CHECK(one("number").dim() == 0);
  CHECK(one("number").item<double>() == 2.5);
  CHECK(one("empty").sizes() == at::IntArrayRef({0, 3}));
  CHECK(one("view").equal(a.to(at::kFloat).slice(1, 0, 3, 2).permute({2, 0, 1})));

  const auto positions = read_input_sets(folder.file("positions.npz"), {"x", "y"}).at(0);
  REQUIRE(positions.size() == 2);
  CHECK(positions[0].toTensor().equal(a.to(at::kFloat)));
  CHECK(positions[1].toTensor().equal(torch::tensor({1, 2}, at::kLong)));
  const auto names = read_input_sets(folder.file("names.npz"), {"x", "y"}).at(0);
  REQUIRE(names.size() == 2);
  CHECK(names[0].toTensor().sizes() == at::IntArrayRef({500, 50}));
  CHECK(names[1].toTensor().equal(torch::tensor({1, 2}, at::kLong)));
  mentions(error_of(folder.file("names.npz"), {"x", "z"}),
           "an array 'y', which is no argument of the model; "
           "its arguments are: x, z.");
  mentions(error_of(folder.file("names.npz"), {"w", "x", "y"}), "no array for the argument 'w'");
}

TEST_CASE("NumPy files that are damaged or have dtypes of no tensor raise LoadError", "[tool]") {
  const Folder folder;
  if (!python(folder, R"(
import numpy as np
np.save('big', np.zeros(3, '>f4'))
np.save('objects', np.array([{}, None]), allow_pickle=True)
np.save('text', np.array(['ab']))
np.save('records', np.zeros(2, [('a', 'f4'), ('b', 'i4')]))
np.save('whole', np.zeros((30, 4), 'float32'))
)")) {
    return;
  }
  mentions(error_of(folder.file("big.npy")), "NumPy's dtype '>f4'");
  mentions(error_of(folder.file("objects.npy")), "NumPy's dtype '|O'");
  mentions(error_of(folder.file("text.npy")), "NumPy's dtype '<U2'");
  mentions(error_of(folder.file("records.npy")), "NumPy's dtype '[");
  const std::string whole = content_of(folder.file("whole.npy"));
  const auto error_of_bytes = [&](const std::string& bytes) {
    std::ofstream(folder.file("damaged"), std::ios::binary) << bytes;
    return error_of(folder.file("damaged"));
  };
  for (std::size_t length = 6; length < whole.size(); length += 7) {
    CAPTURE(length);
    mentions(error_of_bytes(whole.substr(0, length)), "is damaged: ");
  }
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    const std::size_t found = changed.find(from);
    REQUIRE(found != std::string::npos);
    return changed.replace(found, from.size(), to);
  };
  mentions(error_of_bytes(with("(30, 4)", "(-1, 4)")), "no size");
  mentions(error_of_bytes(with("(30, 4)", "(9999999999999999999, 4)").substr(0, whole.size())), "no size");
  mentions(error_of_bytes(with("(30, 4)", "(a, 43)")), "no size");
  mentions(error_of_bytes(with("'shape'", "'shave'")), "has no 'shape'");
  mentions(error_of_bytes(with("False", "Maybe")), "order");
}

}  // namespace sr::test::tool_numpy_file_tests
