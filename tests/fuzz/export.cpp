#include "fuzz/export.hpp"

#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <torch/csrc/jit/serialization/pickle.h>

#include "fuzz/compile.hpp"
#include "fuzz/inputs.hpp"
#include "fuzz/program.hpp"

namespace sr::fuzz {

namespace {

c10::IValue tuple(std::vector<c10::IValue> elements) {
  return c10::ivalue::Tuple::create(std::move(elements));
}

at::Tensor bytes_of(const torch::jit::Module& module) {
  std::ostringstream archive;
  module.save(archive);
  const std::string bytes = archive.str();
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

c10::IValue described(const Case& program) {
  std::vector<c10::IValue> attributes, runs;
  for (auto& [name, value] : make_attributes(program)) attributes.push_back(tuple({name, value}));
  for (std::size_t i = 0; i < program.runs.size(); ++i) {
    if (program.runs[i].setting == Setting::none) runs.push_back(tuple(make_inputs(program, i)));
  }
  return tuple({static_cast<std::int64_t>(program.index), source(program), bytes_of(compile(program)),
                tuple(std::move(attributes)), program.low_precision, tuple(std::move(runs))});
}

}  // namespace

void export_programs(std::uint64_t seed, std::uint64_t first, std::uint64_t count, const std::string& path) {
  std::vector<c10::IValue> programs;
  for (std::uint64_t index = first; index < first + count; ++index) {
    const Case program = generate(seed, index);
    if (program.writes_attributes) continue;
    try {
      programs.push_back(described(program));
    } catch (const c10::Error&) {  // does not compile
      continue;
    }
  }
  const std::vector<char> bytes = torch::jit::pickle_save(tuple(std::move(programs)));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace sr::fuzz
