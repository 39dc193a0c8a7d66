// Copies programs, lays out their memory, and gives them the sizes of a call.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sr/base/config.hpp>
#include <sr/base/error.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/memory/validate.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/programs/program.hpp>

namespace sr::replay {

// Lays out memory for the requests. Throws PlannerError if the planner is wrong, where layouts are checked.
inline memory::Layout lay_out(const PreparedModule& content, const memory::PlannerOps& planner,
                              const std::vector<memory::Request>& requests) {
  memory::Layout layout =
      content.options.memory.optimize ? planner.plan_for_long(requests) : memory::NoReuse::plan(requests);
  if constexpr (kCheckPlans) {
    if (const auto fault = memory::validate(requests, layout))
      throw PlannerError("The planner '" + std::string(planner.name) +
                         "' returned a wrong layout: " + *fault);
  }
  return layout;
}

// Gives a program of a family the sizes of another call. Returns false if it does not hold for the call's
// sizes. Memory that is too small is laid out anew, half as large again, so that sizes which grow do that a
// few times. The program then serves no call before it is bound to memory and gets its signature, also if
// this throws.
inline bool instantiate_for(Program& program, const SignatureWords& call, const PreparedModule& content,
                            const memory::PlannerOps& planner) {
  if (!program.family->take(call)) return false;
  program.serve_nothing();
  SizeValues& values = program.family->values();
  std::vector<memory::Request> grown;  // empty: all fits
  for (std::size_t i = 0; i < program.requests.size(); ++i) {
    const std::size_t bytes = program.requests[i].bytes = values.count(program.request_bytes[i]);
    if (bytes <= program.planned[i].bytes) continue;
    if (grown.empty()) grown = program.planned;
    grown[i].bytes = program.is_tight ? bytes : bytes + bytes / 2;
  }
  program.settle(values);
  if (!grown.empty()) {
    program.layout = lay_out(content, planner, grown);
    program.planned = std::move(grown);  // not before there is a layout for them
    program.bound_to = 0;
  }
  return !values.overflows();
}

// Returns a copy of the program for another runtime, with the layout of its planner. Returns null if a step
// cannot be cloned. Also returns null if the program has loops over images and the planner has its own
// buffer: such a buffer expects each step once. `program` must not run during the copy. Throws what lay_out
// throws.
inline std::unique_ptr<Program> clone(const Program& program, const PreparedModule& content,
                                      const WeightSet& weights, const memory::PlannerOps& planner) {
  if (!program.image_loops.empty() && planner.make_buffer != nullptr) return nullptr;
  auto made = std::make_unique<Program>();
  Frame* blocks = nullptr;
  if (program.state != nullptr) {
    auto state = std::make_shared<ExecutionState>(content, weights, planner);
    blocks = &state->frame;
    made->state = std::move(state);
  }
  static_cast<ProgramParts&>(*made) = program;
  for (Step& step : made->steps) {
    std::unique_ptr<Payload> payload = step.payload->clone(blocks);
    if (payload == nullptr) return nullptr;
    step.payload = payload.get();
    made->payloads.push_back(std::move(payload));
  }
  made->make_scratch();
  if (program.family != nullptr) made->family = std::make_unique<Family>(program.family->signature());
  made->layout = lay_out(content, planner, made->planned);
  return made;
}

// The memory that a program takes, in bytes, without that in which it runs and without what it shares. An
// estimate.
inline std::size_t bytes_of(const Program& program) {
  std::size_t bytes =
      sizeof(Program) + bytes_of(program.bases) + bytes_of(program.steps) + bytes_of(program.derived) +
      bytes_of(program.image_loops) + bytes_of(program.placed) + bytes_of(program.requests) +
      bytes_of(program.request_bytes) + bytes_of(program.planned) + bytes_of(program.layout.offsets) +
      bytes_of(program.constants) + bytes_of(program.values) + bytes_of(program.tensors) +
      bytes_of(program.results.nodes) + bytes_of(program.results.tensors) + bytes_of(program.assigned.nodes) +
      bytes_of(program.assigned.tensors) + program.scratch_floats * sizeof(float);
  for (const std::unique_ptr<Payload>& payload : program.payloads) bytes += payload->bytes();
  return bytes;
}

}  // namespace sr::replay
