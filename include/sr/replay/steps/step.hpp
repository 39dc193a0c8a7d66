// A step of a program: a function and its payload.
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

// The address of bytes in this call, relative to a base. Every storage of a program has an entry in the table
// of bases: those of the arena are set when the program is bound, those of arguments and results in each
// call.
struct Address {
  std::uint32_t base = 0;
  std::int64_t offset = 0;  // bytes

  std::byte* in(std::byte* const* bases) const { return bases[base] + offset; }
  template <class T>
  T* in(std::byte* const* bases) const {
    return reinterpret_cast<T*>(bases[base] + offset);
  }
};

// The parts of the runtime that interpreted steps need.
struct Services {
  const memory::PlannerOps* planner = nullptr;  // see Frame
  const WeightSet* weights = nullptr;           // see Frame
  RanNodes ran;                                 // is told of operators of which nothing is known
};

// What the steps of a replay share.
struct Context {
  std::byte** bases = nullptr;
  std::vector<c10::IValue>* values = nullptr;  // by ValueId: numbers that depend on data
  std::vector<at::Tensor>* tensors = nullptr;  // what interpreted nodes returned, by storage
  const CallOptions* call = nullptr;           // see Frame
  Services* services = nullptr;
};

class PackedWeights;
class SizeValues;
struct Payload;

using RunStep = void (*)(const Payload& payload, Context& context);

struct Payload {
  virtual ~Payload() = default;
  virtual std::string_view name() const = 0;  // what reports call the step
  // Computes what the step needs of its sizes. Called before the first run, and whenever the sizes of a call
  // differ from those of the one before. Returns the function to run; null: always the one it was emitted
  // with. Must allocate nothing that it has allocated before.
  virtual RunStep settle(SizeValues&) { return nullptr; }
  // Whether data may make this step throw Deoptimized.
  virtual bool may_fail() const { return false; }
  // Called when all nodes are lowered: until then a later node may change the weights of this step.
  virtual void pack_weights(PackedWeights&) {}
};

struct Step {
  RunStep run = nullptr;
  Payload* payload = nullptr;
  std::uint32_t node = 0;  // index of the traced node, for messages
};

// Thrown inside a replay when something differs from the trace. The general path then answers the call.
struct Deoptimized : std::exception {
  explicit Deoptimized(std::string reason, bool keep = false) : why(std::move(reason)), keep_program(keep) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
  bool keep_program;  // the arguments' data are to blame (an index out of range), not the program
};

}  // namespace sr::replay
