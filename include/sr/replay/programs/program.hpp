// A program: a recorded call as a list of steps. Belongs to one runtime, or is the original of copies that
// do. The module must outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/thread_modes.hpp>
#include <sr/kernels/aligned.hpp>
#include <sr/memory/request.hpp>
#include <sr/replay/programs/family.hpp>
#include <sr/replay/programs/image_loops.hpp>
#include <sr/replay/programs/results.hpp>
#include <sr/replay/steps/derived_base.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// What reports say about a step.
struct StepNote {
  std::vector<std::uint32_t> nodes;  // that it computes: more than one where they are fused
  std::vector<StorageId> reads, writes;
};

struct AddressRange {
  const std::byte *begin, *end;

  bool overlaps(const AddressRange& other) const {
    return begin < other.end && other.begin < end && begin != end && other.begin != other.end;
  }
};

// What replays seldom read, as reports, checks and messages do. Copies of a program share it.
struct ProgramNotes {
  std::vector<const torch::jit::Node*> nodes;  // by Step::node
  std::vector<std::vector<StorageId>> writes;  // by step: what is complete after it
  std::vector<StepNote> steps;
  std::vector<TracedStorage> storages;
  std::size_t traced_storages = 0;                             // of them, by the recording
  std::uint32_t first_state_leaf = 0;                          // see Trace
  std::vector<std::pair<std::uint32_t, std::string>> remarks;  // on nodes, see PlanReport
  std::vector<AddressRange> weights;                           // sorted; only if the program writes arguments
};

// The part of a program that can be copied as it is.
struct ProgramParts {
  // The members that every replay reads come first: calls that alternate between programs find little of them
  // in the cache.
  SignatureWords signature;
  std::vector<std::byte*> bases;  // arguments first, then every other storage
  std::vector<Step> steps;        // whose payloads are the program's
  std::vector<DerivedBase> derived;
  std::vector<ImageLoop> image_loops;
  bool has_derived = false;  // one comparison with a constant is shorter than one of a vector's ends
  unsigned asked = 0;        // parts of the environment that it depends on
  std::size_t kernels = 0, calls = 0, interpreted = 0;  // steps of each kind
  Results results;
  Results assigned;         // new values of variables
  Environment environment;  // in which it was recorded

  std::vector<WiderView> wider_views;  // of arguments
  // Leaves that steps write: variables and arguments whose old bytes they do not log, and all such arguments.
  std::vector<std::uint32_t> unlogged_leaves, written_arguments;
  bool changes_arguments = false;     // writes some, or changes lists or dictionaries of them
  bool may_end_behind_write = false;  // a replay may deoptimize after a step has written one

  // For each of the last results: the list to which the block appends it, as an index of the inputs by value.
  std::vector<ValueId> appends_to;

  bool draws_random_numbers = false;
  bool may_draw_again = false;    // data may end a replay that has drawn some
  std::vector<StorageId> placed;  // storages in the arena, in the order of `requests`
  std::vector<memory::Request> requests;
  std::vector<Size> request_bytes;       // of each request in any call
  std::vector<memory::Request> planned;  // with the bytes that the layout has room for
  memory::Layout layout;
  // How far each tensor of the arguments reaches from its first element, in any call and in this one.
  std::vector<Size> leaf_bytes_of;
  std::vector<std::size_t> leaf_bytes;
  std::vector<at::Tensor> constants;  // whose bytes steps read
  std::uint64_t number = 0;           // as which it was published; 0: it was not
  StorageId scratch_storage = 0;
  std::size_t scratch_floats = 0;
  std::vector<c10::IValue> values;
  std::vector<at::Tensor> tensors;                              // see Context
  std::vector<std::pair<std::uint32_t, StorageId>> dead_after;  // step, and which of them nothing reads then
  std::shared_ptr<const ProgramNotes> notes;
};

struct Program : ProgramParts {
  static constexpr std::int64_t kOfNoCall = -1;  // in place of the thread's modes

  std::uint64_t last_used = 0;
  std::uint64_t replays = 0;
  std::uint64_t replays_before_end = 0;  // when data ended a replay the last time
  std::uint32_t ended_in_row = 0;        // replays that data ended, without another one between them
  std::uint64_t bound_to = 0;            // generation of the bytes that `bases` point into; 0: none yet
  bool is_tight = false;                 // layouts leave no room for larger calls

  std::string bailout;  // why calls with this signature keep to the general path; empty: they are replayed
  std::vector<double> step_seconds;  // by step, sums over timed replays
  std::uint64_t timed_replays = 0;
  std::uint32_t untimed_replays = 0;  // to come before the next one is timed

  std::vector<std::unique_ptr<Payload>> payloads;
  std::unique_ptr<AlignedFloats> scratch;
  RanNodes* ran = nullptr;      // of the runtime, which outlives the program
  std::shared_ptr<void> state;  // runs blocks that data decide about

  std::unique_ptr<Family> family;  // null: for one signature only

  // Computes the numbers with which steps and results run, for the sizes of one call.
  void settle(SizeValues& values_of) {
    for (ImageLoop& loop : image_loops) settle(loop, values_of);
    for (Step& step : steps) {
      if (const RunStep run = step.payload->settle(values_of)) step.run = run;
    }
    results.settle(values_of);
    assigned.settle(values_of);
    for (DerivedBase& base : derived) base.settle(values_of);
    leaf_bytes.resize(leaf_bytes_of.size());
    for (std::size_t leaf = 0; leaf < leaf_bytes.size(); ++leaf)
      leaf_bytes[leaf] = values_of.count(leaf_bytes_of[leaf]);
    if (intra_op_threads() != 1) note_last_shared();
  }

  // Threads share the images of a batch, or else each step.
  void settle(ImageLoop& loop, SizeValues& values_of) {
    loop.images = values_of.count(loop.images_of);
    loop.shares.set(static_cast<std::int64_t>(loop.images), static_cast<double>(loop.images));
    const bool shares_images = loop.images > 1 && intra_op_threads() != 1;
    for (std::size_t i = loop.first; i < loop.end; ++i) {
      if (Shares* const work = steps[i].payload->shared_work()) work->keep_alone(shares_images);
    }
  }

  // Between shared steps of a call helpers stay awake.
  void note_last_shared() {
    bool more_follow = false;
    for (std::size_t i = steps.size(); i-- > 0;) {
      Shares* const work = steps[i].payload->shared_work();
      if (work == nullptr || work->count() < 2) continue;
      work->set_more_follow(more_follow);
      more_follow = true;
    }
  }

  // Must be called when all storages are known.
  void make_scratch() {
    scratch = std::make_unique<AlignedFloats>(scratch_floats);
    bases[scratch_storage] = reinterpret_cast<std::byte*>(scratch->data);
  }

  // Must be called when there was no memory for the layout: the next call makes another one, with no more
  // than it needs.
  void forget_layout() {
    for (memory::Request& request : planned) request.bytes = 0;
    is_tight = true;
  }

  // True if the modes of this thread are those of the recording.
  [[gnu::always_inline]] bool modes_hold() const {
    return signature[0] == static_cast<std::int64_t>(ThreadModes::now().excluded) &&
           (asked == 0 || environment.holds(asked));
  }

  // True if the storage offsets of the arguments allow the views in a larger dtype that the steps take. The
  // signature does not contain storage offsets.
  [[gnu::always_inline]] bool fits_views(std::span<const c10::IValue> args) const {
    return wider_views.empty() || each_view_fits(args);
  }
  [[gnu::noinline]] bool each_view_fits(std::span<const c10::IValue> args) const {
    return std::ranges::all_of(wider_views, [&](const WiderView& view) {
      return args[view.argument].toTensor().storage_offset() % view.elements == 0;
    });
  }

  // Returns the number of bytes that log_leaves() copies.
  std::size_t unlogged_bytes() const {
    std::size_t sum = 0;
    for (const std::uint32_t leaf : unlogged_leaves) sum += leaf_bytes[leaf];
    return sum;
  }
  // Copies the unlogged leaves to the log. The table of bases must contain their addresses.
  [[gnu::noinline]] void log_leaves(UndoLog& undo) const {
    for (const std::uint32_t leaf : unlogged_leaves) undo.keep(bases[leaf], leaf_bytes[leaf]);
  }

  // From now on no call has the signature.
  void serve_nothing() { signature[0] = kOfNoCall; }
  void serve(const SignatureWords& call) {
    signature = call;
    note_asked(signature, asked);
  }

  // Must be called when all other bases are set.
  [[gnu::always_inline]] void set_derived_bases() {
    if (has_derived) [[unlikely]]
      set_all_derived_bases();
  }
  [[gnu::noinline]] void set_all_derived_bases() {
    for (const DerivedBase& base : derived) base.set(bases.data());
  }
};

}  // namespace sr::replay
