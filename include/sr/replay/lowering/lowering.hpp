// From a trace to drafts of steps. Families of operators register functions that lower a node; they are given
// a Lowering.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <sr/base/identity.hpp>
#include <sr/base/intra_op_width.hpp>
#include <sr/base/options.hpp>
#include <sr/replay/lowering/activation.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/image_layouts.hpp>
#include <sr/replay/lowering/placement.hpp>
#include <sr/replay/lowering/program_storages.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// What the functions that lower operators work with: what a node has, and what it becomes.
class Lowering : public ProgramStorages {
 public:
  // Images between steps lie in NHWC where kernels are faster then, but for those in `in_order`.
  Lowering(const Trace& trace, Numerics numerics, const std::set<StorageId>& in_order)
      : ProgramStorages(trace), exact_(numerics == Numerics::exact), readers_(readers_of(trace)) {
    if (!exact_ && !trace.keeps_sizes_open) images_ = ImageLayouts(trace, storages(), in_order).choose();
    placements_ = PlacementSearch(trace, storages(), readers_).find();
    for (const TracedNode& node : trace.nodes)
      written_in_place_.insert(node.changed.begin(), node.changed.end());
  }

  // --- what a node has ---

  bool exact() const { return exact_; }
  // True if these sizes must not be pinned, though a kernel needs to know them.
  bool keeps_open(const Dims& sizes) const { return trace().keeps_sizes_open && varies(sizes); }
  // Intra-op threads of the calling thread. The program then holds only for callers with as many.
  int threads() {
    asked_ |= Environment::threads;
    return intra_op_threads();
  }
  // The modes of the environment that lowering has read.
  unsigned asked() const { return asked_; }
  void begin(std::uint32_t node) { node_ = node; }

  Operand operand(const at::Tensor& tensor) const {
    const TensorId id = trace().id_of(tensor);
    const StorageId storage = trace().tensors[id].storage;
    if (const auto placed = placements_.find(storage); placed != placements_.end()) return placed->second;
    const TensorLayout& layout = trace().tensors[id].layout;
    Operand operand{storage, layout.offset, layout.sizes, layout.strides, tensor.scalar_type()};
    if (const auto image = images_.find(storage); image != images_.end()) {
      const TensorLayout moved = *view_with_channels_last(image->second, layout);
      operand.offset = moved.offset;
      operand.strides = moved.strides;
    }
    operand.offset -= base_offset(storage, tensor.element_size());
    return operand;
  }
  // The tensor given as argument `i`, if it is one.
  std::optional<Operand> input(const TracedNode& node, std::size_t i) const {
    const c10::IValue& value = node.inputs[i];
    if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
    return operand(value.toTensor());
  }
  Operand output(const TracedNode& node, std::size_t i = 0) const {
    return operand(node.outputs[i].toTensor());
  }

  // The storages of images of the node, or of views of them, that the program keeps in NHWC.
  std::set<StorageId> images_with_channels_last(const TracedNode& node) const {
    std::set<StorageId> found;
    const auto look = [&](const at::Tensor& tensor) {
      const StorageId storage = trace().storage_id_of(tensor);
      if (images_.count(storage) != 0) found.insert(storage);
    };
    for (const c10::IValue& input : node.inputs) sr::detail::each_tensor(input, look);
    for (const c10::IValue& output : node.outputs) sr::detail::each_tensor(output, look);
    return found;
  }

  bool is_written_in_place(StorageId storage) const { return written_in_place_.count(storage) != 0; }

  // True if anything reads a result besides the first; often only training does.
  bool reads_behind_first(const TracedNode& node) const {
    return std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](const c10::IValue& output) {
      return readers_[trace().storage_id_of(output.toTensor())] != 0;
    });
  }

  // True if a single node reads the storage and no caller, or the other way round.
  bool is_read_once(StorageId storage) const { return storage < readers_.size() && readers_[storage] == 1; }

  // True if a node reads the result, and not only the caller.
  bool is_read_by_node(const Operand& result) const {
    std::uint32_t returned = 0;
    for (const c10::IValue& value : trace().results) {
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
        returned += trace().storage_id_of(tensor) == result.storage ? 1 : 0;
      });
    }
    return result.storage < readers_.size() && readers_[result.storage] > returned;
  }

  // The type in which pointwise operations compute the operand; nothing if another step makes it.
  std::optional<c10::ScalarType> type_of_maker(const Operand& operand) const {
    const std::uint32_t made = maker_of(operand.storage);
    if (made == kNone || drafts_[made].group == kNone) return std::nullopt;
    return groups_[drafts_[made].group].type;
  }

  // True if the tensor's bytes are written as a part of the tensor that a later concatenation makes.
  bool is_placed(const at::Tensor& tensor) const {
    return placements_.count(trace().storage_id_of(tensor)) != 0;
  }
  // Takes back a placement of the tensor's bytes. Returns whether there was one.
  bool displace(const at::Tensor& tensor) { return placements_.erase(trace().storage_id_of(tensor)) != 0; }

  // Keeps the parts of a concatenation where their own steps write them. What reads the concatenation must
  // read parts_kept_apart instead; nothing writes it.
  void keep_apart(const at::Tensor& joined, std::vector<at::Tensor> parts) {
    for (const at::Tensor& part : parts) displace(part);
    kept_apart_[trace().storage_id_of(joined)] = std::move(parts);
  }
  // The parts of the concatenation in this storage, in order; null unless they are kept apart.
  const std::vector<at::Tensor>* parts_kept_apart(StorageId joined) const {
    const auto found = kept_apart_.find(joined);
    return found == kept_apart_.end() ? nullptr : &found->second;
  }

  // --- what it becomes ---

  using ProgramStorages::address;
  Address address(const Operand& operand) { return address(operand.storage, operand.byte_offset()); }

  template <class P>
  void emit(P payload, std::vector<StorageId> reads, std::vector<StorageId> writes) {
    std::unique_ptr<Payload> owned = std::make_unique<P>(std::move(payload));
    const RunStep run = &P::run;
    emit_owned(std::move(owned), run, std::move(reads), std::move(writes));
  }
  void emit_owned(std::unique_ptr<Payload> payload, RunStep run, std::vector<StorageId> reads,
                  std::vector<StorageId> writes) {
    for (const StorageId written : writes) note_writer(written, static_cast<std::uint32_t>(drafts_.size()));
    drafts_.push_back({{run, payload.get(), node_}, std::move(reads), std::move(writes), kNone});
    payloads_.push_back(std::move(payload));
  }

  // Adds the operation to the step that makes its operand, if that can apply it to its results, or to the
  // last group that it fits into, or to a new one. The operands must be of types that element_of knows.
  void pointwise(const Compute& compute, c10::SmallVector<PointwiseInput, 3> inputs, Operand out) {
    for (PointwiseInput& input : inputs) {
      if (input.operand) input.operand = constant_as(compute.type, *input.operand);
    }
    if (is_activation(compute, inputs, out)) return;
    PointwiseOp op{compute, std::move(inputs), std::move(out), node_};
    for (std::size_t g = groups_.size(); g-- > 0 && g + kGroupsLookedAt >= groups_.size();) {
      if (may_join(op, groups_[g], static_cast<std::uint32_t>(g)))
        return join(static_cast<std::uint32_t>(g), std::move(op));
    }
    const auto g = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({drafts_.size(), op.out.sizes, compute.type, {}, {}});
    drafts_.push_back({{nullptr, nullptr, node_}, {}, {}, g});
    join(g, std::move(op));
  }

  // Makes the group that computes `rows.in` run the kernel on its rows. Returns false if it cannot: rows and
  // results must be short and contiguous, and the storages in `reads`, which the kernel reads, must be
  // complete before the group runs.
  bool behind_group(GroupRows rows, const std::vector<StorageId>& reads) {
    const std::uint32_t made = maker_of(rows.in.storage);
    if (made == kNone || drafts_[made].group == kNone || rows.in.rank() < rows.row_rank) return false;
    Group& group = groups_[drafts_[made].group];
    const bool lies_in_order = always_equal(rows.in.sizes, group.sizes) && rows.in.is_contiguous() &&
                               group.ops.front().out.is_contiguous() && rows.out.is_contiguous() &&
                               rows.in.is_float() && rows.out.is_float() && group.type == c10::kFloat;
    const bool is_made_here = std::any_of(group.ops.begin(), group.ops.end(),
                                          [&](const PointwiseOp& op) { return op.out == rows.in; });
    if (!lies_in_order || !is_made_here) return false;
    if (rows.columns() > kTile || rows.columns() <= 1) return false;
    for (const StorageId read : reads) {
      if (maker_of(read) != kNone && maker_of(read) >= group.position) return false;
    }
    Draft& draft = drafts_[group.position];
    draft.reads.insert(draft.reads.end(), reads.begin(), reads.end());
    draft.writes.push_back(rows.out.storage);
    note_writer(rows.out.storage, static_cast<std::uint32_t>(group.position));
    group.rows.push_back(std::move(rows));
    return true;
  }

  // Returns the step that alone writes the operand's storage, if its payload is a P and exactly `readers`
  // nodes and results read the storage. Returns null otherwise. Other storages that the step writes are its
  // temporaries.
  template <class P>
  Draft* sole_maker(const Operand& operand, std::size_t readers) {
    const std::uint32_t made = maker_of(operand.storage);
    if (made == kNone || operand.storage >= trace().storages.size() ||
        dynamic_cast<const P*>(drafts_[made].step.payload) == nullptr ||
        drafts_[made].writes.front() != operand.storage || readers_[operand.storage] != readers) {
      return nullptr;
    }
    return &drafts_[made];
  }
  // Makes that step write another operand instead.
  void redirect(Draft& draft, const Operand& to) {
    draft.writes.front() = to.storage;
    note_writer(to.storage, static_cast<std::uint32_t>(&draft - drafts_.data()));
  }

  // Moves a step behind all that were emitted so far. No step may read its results yet, and none may write
  // what it reads. Leaves an empty draft.
  Draft& postpone(Draft& draft) {
    const auto to = static_cast<std::uint32_t>(drafts_.size());
    moved_drafts_.emplace(static_cast<std::uint32_t>(&draft - drafts_.data()), to);
    for (const StorageId written : draft.writes) note_writer(written, to);
    Draft moved = std::move(draft);
    draft = {};
    drafts_.push_back(std::move(moved));
    return drafts_.back();
  }
  // Where the draft with this index is now.
  std::uint32_t moved_draft(std::uint32_t draft) const {
    for (auto at = moved_drafts_.find(draft); at != moved_drafts_.end(); at = moved_drafts_.find(draft))
      draft = at->second;
    return draft;
  }

  // The operand, or a contiguous copy of it if it is not contiguous.
  Operand contiguous(Operand operand);
  // Where a step writes that makes contiguous results only: `out`, or a temporary that is then copied there.
  Operand made_contiguous(const Operand& out) {
    return out.is_contiguous() ? out : temporary(out.sizes, out.dtype);
  }
  // Copies the operand unless the elements of a row follow each other. Returns whether they do now.
  bool make_rows(Operand& operand);

  // The draft that completes the storage; kNone if no step writes it.
  std::uint32_t maker_of(StorageId storage) const {
    return storage < made_at_.size() ? made_at_[storage] : kNone;
  }

  // Returns the payload of the step that completes the storage. Returns null if there is none, or if it is a
  // group of pointwise operations.
  const Payload* payload_of_maker(StorageId storage) const {
    const std::uint32_t made = maker_of(storage);
    return made == kNone ? nullptr : drafts_[made].step.payload;
  }

  std::vector<Draft>& drafts() { return drafts_; }
  std::vector<Group>& groups() { return groups_; }
  std::vector<std::unique_ptr<Payload>>& payloads() { return payloads_; }
  std::uint32_t node() const { return node_; }

 private:
  // Makes the step of the only tensor among the operands apply the operation. Returns false if none can.
  bool is_activation(const Compute& compute, const c10::SmallVector<PointwiseInput, 3>& inputs,
                     const Operand& out) {
    const auto found = activation_of(compute, inputs, out);
    if (!found) return false;
    const auto& [activation, in] = *found;
    Draft* const draft = sole_maker<Payload>(*in, 1);
    if (draft == nullptr ||
        !draft->step.payload->activate(activation, in->count(), address(*in), address(out)))
      return false;
    redirect(*draft, out);
    return true;
  }

  static constexpr std::size_t kGroupsLookedAt = 4;
  static constexpr std::size_t kMostOps = 64;

  bool may_join(const PointwiseOp& op, const Group& group, std::uint32_t g) const {
    if (!always_equal(group.sizes, op.out.sizes) || group.type != op.compute.type ||
        group.ops.size() >= kMostOps)
      return false;
    for (const PointwiseInput& input : op.inputs) {
      if (!input.operand) continue;
      const std::uint32_t made = maker_of(input.operand->storage);
      if (made == kNone || made < group.position) continue;
      if (made != group.position || drafts_[made].group != g) return false;
      const bool as_written = std::any_of(group.ops.begin(), group.ops.end(), [&](const PointwiseOp& maker) {
        return maker.out == *input.operand && !is_changed_by_memory(maker.out, group);
      });
      if (!as_written) return false;
    }
    return true;
  }

  // True if the type of the result in memory loses a part of what was computed: a fraction, high bits or
  // digits. Then an operation of the group may not read the computed value. (Groups of floats round to
  // 16 bits themselves.)
  static bool is_changed_by_memory(const Operand& made, const Group& group) {
    if (made.dtype == group.type) return false;
    return c10::isIntegralType(made.dtype, /*includeBool=*/false) ||
           (group.type == c10::kDouble && c10::isFloatingType(made.dtype));
  }

  // Several steps may each write a part of a storage: the last one counts.
  void note_writer(StorageId storage, std::uint32_t draft) {
    if (storage >= made_at_.size()) made_at_.resize(storage + 1, kNone);
    made_at_[storage] = made_at_[storage] == kNone ? draft : std::max(made_at_[storage], draft);
  }

  void join(std::uint32_t g, PointwiseOp op) {
    Draft& draft = drafts_[groups_[g].position];
    note_writer(op.out.storage, static_cast<std::uint32_t>(groups_[g].position));
    for (const PointwiseInput& input : op.inputs) {
      if (input.operand) draft.reads.push_back(input.operand->storage);
    }
    draft.writes.push_back(op.out.storage);
    groups_[g].ops.push_back(std::move(op));
  }

  bool exact_;
  unsigned asked_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> moved_drafts_;  // see postpone
  std::vector<std::uint32_t> readers_;  // by storage of the record: how often a node or a result reads it
  std::unordered_map<StorageId, Dims> images_;  // that lie in NHWC: their sizes, as NCHW
  Placements placements_;
  std::unordered_map<StorageId, std::vector<at::Tensor>> kept_apart_;  // by storage of the concatenation
  std::unordered_set<StorageId> written_in_place_;
  std::uint32_t node_ = 0;
  std::vector<std::uint32_t> made_at_;  // by storage: the draft that writes it
  std::vector<Draft> drafts_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<Payload>> payloads_;
};

}  // namespace sr::replay
