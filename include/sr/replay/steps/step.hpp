// What a replay is made of: a function and what it works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/graph/processed_node.hpp>
#include <sr/graph/ran_nodes.hpp>

namespace sr::replay {

// Where some bytes are in this call. Every storage of a plan has an entry in the table of bases: the arena's
// are set when the plan is bound, those of arguments and results in each call.
struct Address {
  std::uint32_t base = 0;
  std::int64_t offset = 0;  // bytes

  std::byte* in(std::byte* const* bases) const { return bases[base] + offset; }
  template <class T>
  T* in(std::byte* const* bases) const {
    return reinterpret_cast<T*>(bases[base] + offset);
  }
};

// What interpreted steps need of the runtime.
struct Services {
  const memory::PlannerOps* planner = nullptr;  // see Frame
  RanNodes ran;                                 // is told of operators of which nothing is known
};

// What steps share while a plan is replayed.
struct Context {
  std::byte** bases = nullptr;
  std::vector<c10::IValue>* values = nullptr;  // by ValueId: numbers that depend on data
  std::vector<at::Tensor>* tensors = nullptr;  // what interpreted nodes returned, by storage
  const CallOptions* call = nullptr;           // see Frame
  Services* services = nullptr;
};

class PackedWeights;

struct Payload {
  virtual ~Payload() = default;
  virtual std::string_view name() const = 0;  // what reports call the step
  // Whether the data of a call may end the replay here, by Deoptimized.
  virtual bool may_fail() const { return false; }
  // Once all nodes are lowered: until then a later one may change what this one multiplies with.
  virtual void pack_weights(PackedWeights&) {}
};

using RunStep = void (*)(const Payload& payload, Context& context);

struct Step {
  RunStep run = nullptr;
  const Payload* payload = nullptr;
  std::uint32_t node = 0;  // index of the traced node, for messages
};

// Thrown inside a replay when something is not as it was recorded. The call is made again on the general
// path.
struct Deoptimized : std::exception {
  explicit Deoptimized(std::string reason, bool keep = false) : why(std::move(reason)), keep_plan(keep) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
  bool keep_plan;  // the arguments' data are to blame (an index out of range), not the plan
};

}  // namespace sr::replay
