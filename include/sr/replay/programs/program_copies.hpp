// Publishes the programs of a runtime, and copies programs that other runtimes of the module have published.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <sr/module/shared_programs.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/replay/programs/program_instances.hpp>
#include <sr/replay/trace/family_signature.hpp>

namespace sr::replay {

// Belongs to one runtime, and is used by one thread at a time. The module must outlive it. `weights` are
// those that the runtime has; when it takes others, forget() must be called.
class ProgramCopies {
 public:
  // `block` is the block of the module whose runs the programs serve, or 0: calls.
  ProgramCopies(const PreparedModule& content, const memory::PlannerOps& planner, std::uint32_t block)
      : content_(&content), planner_(&planner), block_(block) {}

  bool is_empty(const WeightSet& weights) const { return programs_of(weights).version() == 0; }

  // Returns a copy of a published program that serves calls of this signature, or of a family that has room
  // for it. Returns null if there is none.
  std::unique_ptr<Program> find(const WeightSet& weights, const SignatureWords& words) {
    look(weights);
    if (known_ == nullptr) return nullptr;
    const auto found = known_->find(skeleton_of(words));
    if (found == known_->end()) return nullptr;
    for (const std::shared_ptr<const Program>& program : found->second) {
      if (serves(*program, words)) return copy_of(*program, weights);
    }
    return nullptr;
  }

  // Returns nullopt if another runtime records such a call, or has recorded one that this runtime has not
  // looked for.
  std::optional<SharedPrograms::Claim> claim(const WeightSet& weights, const SignatureWords& words) {
    std::optional<SharedPrograms::Claim> claim = programs_of(weights).claim(skeleton_of(words), version_);
    if (!claim) look(weights);  // else one without room, which looks for no program, would never get a claim
    return claim;
  }

  // `program` must not have run.
  void publish(const WeightSet& weights, Program& program) const {
    program.number = programs_of(weights).next_number();
    std::shared_ptr<Program> copy = copy_of(program, weights);
    if (copy == nullptr) return;
    const std::size_t bytes = bytes_of(*copy);
    const std::uint64_t skeleton = skeleton_of(copy->signature);
    programs_of(weights).publish(program.number, skeleton, std::move(copy), bytes,
                                 content_->options.memory.max_plan_bytes);
  }

  void withdraw(const WeightSet& weights, const Program& program) const {
    if (program.number != 0) programs_of(weights).withdraw(program.number);
  }

  void forget() {
    known_.reset();
    version_ = 0;
  }

 private:
  SharedPrograms& programs_of(const WeightSet& weights) const {
    return block_ == 0 ? weights.programs() : weights.programs_of_block(block_);
  }

  void look(const WeightSet& weights) {
    const SharedPrograms& shared = programs_of(weights);
    if (shared.version() != version_) known_ = shared.snapshot(version_);
  }

  // Returns null also if there is no memory for a copy: the call can be answered without it.
  std::unique_ptr<Program> copy_of(const Program& program, const WeightSet& weights) const {
    try {
      return clone(program, *content_, weights, *planner_);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  static bool serves(const Program& program, const SignatureWords& words) {
    if (!program.environment.holds(program.asked)) return false;
    if (program.family != nullptr) return Family(program.family->signature()).take(words);
    return is_same_call(program.signature, words);
  }

  const PreparedModule* content_;
  const memory::PlannerOps* planner_;
  std::uint32_t block_;
  std::shared_ptr<const SharedPrograms::Snapshot> known_;
  std::uint64_t version_ = 0;  // of what is known
};

}  // namespace sr::replay
