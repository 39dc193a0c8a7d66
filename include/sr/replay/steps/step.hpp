// A step of a program: a function and its payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/graph/processed_node.hpp>
#include <sr/graph/ran_nodes.hpp>
#include <sr/replay/steps/generator_state.hpp>
#include <sr/replay/steps/undo_log.hpp>

namespace sr::replay {

// The address of bytes in this call, relative to a base. Every storage of a program has an entry in the table
// of bases: those of the arena are set when the program is bound, those of arguments and results in each
// call.
struct Address {
  std::uint32_t base = 0;
  std::int64_t offset = 0;  // bytes

  friend bool operator==(const Address&, const Address&) = default;
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
  UndoLog undo;                                 // stores bytes of variables before they are overwritten
  BlockCalls* blocks = nullptr;                 // see Frame
  GeneratorState generator;                     // before the replay, if it may have to draw again
};

// What the steps of a replay share.
struct Context {
  std::byte** bases = nullptr;                 // base_count of them
  std::vector<c10::IValue>* values = nullptr;  // by ValueId: numbers that depend on data
  std::vector<at::Tensor>* tensors = nullptr;  // what interpreted nodes returned, by storage
  const CallOptions* call = nullptr;           // see Frame
  Services* services = nullptr;
  std::size_t base_count = 0;
};

struct Activation;
struct ImageAccesses;
class PackedWeights;
class Shares;
class Size;
class SizeValues;
struct Payload;

using RunStep = void (*)(const Payload& payload, Context& context);

struct Payload {
  virtual ~Payload() = default;
  virtual std::string_view name() const = 0;  // what reports call the step
  // Computes what the step needs of its sizes. Called before the first run, and whenever the sizes of a call
  // differ from those of the one before. Returns the function to run; null: always the one it was emitted
  // with. Memory that it keeps must not grow from call to call.
  virtual RunStep settle(SizeValues&) { return nullptr; }
  // True if data may make this step throw Deoptimized.
  virtual bool may_fail() const { return false; }
  // True if the step has no effect but its results, and can be removed if none of them is read.
  virtual bool may_be_dropped() const { return false; }
  // Makes the step apply the vector op to its `count` results, which it has written to `made` so far, and
  // write them to `to`. Returns false, having changed nothing, if it cannot, or if those are not all results.
  virtual bool activate(const Activation&, const Size& /*count*/, const Address& /*made*/,
                        const Address& /*to*/) {
    return false;
  }
  // Tells what the step reads and writes of each image of a batch. Returns false if it does not do the same
  // for each of them.
  virtual bool list_accesses(ImageAccesses&) const { return false; }
  // Makes such a step compute the first image only.
  virtual void keep_one_image() {}
  // True if the step stores in the UndoLog what it overwrites of variables and arguments.
  virtual bool logs_writes() const { return false; }
  // The work that threads share; null if there never is any.
  virtual Shares* shared_work() { return nullptr; }
  // Called when all nodes are lowered: until then a later node may change the weights of this step.
  virtual void pack_weights(PackedWeights&) {}
  // The original of the weights that the step reads in packed form; null if it reads none.
  virtual const void* packed_from() const { return nullptr; }
  // True if the step multiplies by weights of 8 or 4 bits.
  virtual bool has_small_weights() const { return false; }
  // Keeps the addresses that the step has in this call. Returns the function to run on them, until the step
  // settles or is run otherwise; null: it runs as always.
  virtual RunStep freeze(std::byte* const*) { return nullptr; }
  // Returns a copy of the step for another program. The copy shares nothing with this one that a replay
  // writes. Returns null if the step cannot be copied. Control flow that data decide runs its blocks on
  // `blocks`. Must not be called while this step runs or settles.
  virtual std::unique_ptr<Payload> clone(Frame* blocks) const = 0;
  // The memory that the step takes, for itself only, in bytes. An estimate.
  virtual std::size_t bytes() const = 0;
};

// A step whose copies share nothing that a replay writes.
template <class Step, class Base = Payload>
struct ClonableStep : Base {
  std::unique_ptr<Payload> clone(Frame*) const final {
    return std::make_unique<Step>(static_cast<const Step&>(*this));
  }
  std::size_t bytes() const final { return sizeof(Step) + static_cast<const Step&>(*this).vector_bytes(); }
  std::size_t vector_bytes() const { return 0; }  // of its vectors; hidden by steps that have some
};

template <class Vector>
std::size_t bytes_of(const Vector& vector) {
  return vector.capacity() * sizeof(vector[0]);
}

struct Step {
  RunStep run = nullptr;
  Payload* payload = nullptr;
  std::uint32_t node = 0;  // index of the traced node, for messages
};

// Steps on the addresses of one call, and what they share. The program must outlive it.
struct FrozenSteps {
  std::vector<Step> steps;  // none: the program's own have to be run
  Context context;
};

// Thrown inside a replay when something differs from the trace. The general path then answers the call.
struct Deoptimized : std::exception {
  // What happens to the program after the replay.
  enum class Program : std::uint8_t {
    dropped,  // its operators do not do what they did
    doubted,  // it holds for other data: dropped if that happens call after call
    kept      // this call's data are to blame (an index out of range)
  };
  explicit Deoptimized(std::string reason, Program becomes = Program::dropped)
      : why(std::move(reason)), program(becomes) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
  Program program;
};

}  // namespace sr::replay
