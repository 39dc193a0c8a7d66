// sr with one planner and one set of options behind functions, so that the fuzzer uses no types of sr
// elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/script.h>

namespace sr::fuzz {

struct Runner {
  std::function<c10::IValue(std::vector<c10::IValue>)> call;
  std::function<void(const std::vector<c10::IValue>&, const std::vector<at::Tensor>&)> call_into;
  std::function<bool()> intact;             // no byte next to a managed tensor was written
  std::function<std::uint64_t()> replayed;  // number of calls that ran a program
};

struct Configuration {
  std::string_view name;
  bool replay, managed_outputs, optimize, out_variants;
  bool exact;  // also for programs that may be compared with a tolerance
  bool into;   // results are copied into the caller's tensors
};

const std::vector<Configuration>& configurations();  // the first is the default
// Throws std::invalid_argument if there is none of this name.
const Configuration& configuration_of(const std::string& name);

// Interprets a call of a module with state. Restores the buffers if the call throws, as sr does.
c10::IValue interpret_stream(torch::jit::Module& module, const std::vector<c10::IValue>& args);

// A module loaded once, for any number of runners.
class Prepared {
 public:
  explicit Prepared(const torch::jit::Module& module);
  ~Prepared();
  // True if calls may write values that later calls read.
  bool has_state() const;
  Runner make(const Configuration& configuration, bool exact) const;
  // A function that runs the prepared graph in the interpreter. Its calls write to one copy of the
  // attributes.
  std::function<c10::IValue(std::vector<c10::IValue>)> interpreter() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace sr::fuzz
