// From the record of a call to drafts of steps. What each operator becomes is said in plan/lower/; here is
// what those functions have to work with.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <sr/base/identity.hpp>
#include <sr/base/options.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/replay/operand.hpp>
#include <sr/replay/placement.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A step before memory is laid out.
struct Draft {
  Step step;
  std::vector<StorageId> reads, writes;
  std::uint32_t group = kNone;  // of pointwise operations; its step is made when all are known
};

struct PointwiseInput {
  std::optional<Operand> operand;
  double number = 0;  // without an operand

  PointwiseInput(Operand tensor) : operand(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  PointwiseInput(double value) : number(value) {}                 // NOLINT(google-explicit-constructor)
};

// A lane and the type that it computes in: floats, doubles or 64-bit integers.
struct Compute {
  const kernels::LaneLoops* lane = nullptr;  // on floats
  const kernels::WideLoops* wide = nullptr;  // on the others
  c10::ScalarType type = c10::kFloat;

  Compute(const kernels::LaneLoops& on_floats) : lane(&on_floats) {}  // NOLINT(google-explicit-constructor)
  Compute(const kernels::WideLoops& loops, c10::ScalarType dtype) : wide(&loops), type(dtype) {}
};

// One pointwise operation on operands that broadcast to the result, or numbers. What is of another type than
// it computes in is converted.
struct PointwiseOp {
  Compute compute;
  c10::SmallVector<PointwiseInput, 3> inputs;
  Operand out;
  std::uint32_t node = 0;
};

// A kernel on the rows of what a group makes: the last `row_rank` dimensions.
struct GroupRows {
  std::unique_ptr<RowKernel> kernel;
  Operand in, out;
  std::size_t row_rank = 0, out_columns = 0;

  std::size_t columns() const {
    std::size_t product = 1;
    for (std::size_t d = in.rank() - row_rank; d < in.rank(); ++d)
      product *= static_cast<std::size_t>(in.sizes[d]);
    return product;
  }
};

// Operations that share one iteration space and one type, and become one step.
struct Group {
  std::size_t position = 0;  // of its draft
  Dims sizes;
  c10::ScalarType type = c10::kFloat;
  std::vector<PointwiseOp> ops;
  std::vector<GroupRows> rows;
};

class Lowering {
 public:
  Lowering(const Trace& trace, Numerics numerics)
      : trace_(trace),
        exact_(numerics == Numerics::exact),
        readers_(readers_of(trace)),
        placements_(PlacementSearch(trace, readers_).find()) {
    storages_ = trace.storages;
    scratch_ = static_cast<StorageId>(storages_.size());
    storages_.resize(storages_.size() + 2, {.home = Home::opaque});
    made_at_.resize(storages_.size(), kNone);
  }

  // --- what a node has ---

  bool exact() const { return exact_; }
  // Intra-op threads of the calling thread. The plan is then for callers with as many.
  int threads() {
    asked_ |= Environment::threads;
    return at::get_num_threads();
  }
  // Parts of the environment that lowering has asked.
  unsigned asked() const { return asked_; }
  void begin(std::uint32_t node) { node_ = node; }

  Operand operand(const at::Tensor& tensor) const {
    const TensorId id = trace_.id_of(tensor);
    const StorageId storage = trace_.tensors[id].storage;
    if (const auto placed = placements_.find(storage); placed != placements_.end()) return placed->second;
    Operand operand{storage, tensor.storage_offset(), Dims(tensor.sizes().begin(), tensor.sizes().end()),
                    Dims(tensor.strides().begin(), tensor.strides().end()), tensor.scalar_type()};
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

  // Bytes that are the same in every call.
  bool is_constant(const Operand& operand) const { return is_constant(operand.storage); }
  bool is_constant(StorageId storage) const {
    return storages_[storage].home == Home::weight || storages_[storage].home == Home::literal;
  }
  const float* constant_data(const Operand& operand) const {
    return static_cast<const float*>(constant_base(operand.storage)) + operand.offset;
  }
  const void* constant_bytes(const Operand& operand) const {
    return static_cast<const std::byte*>(constant_base(operand.storage)) + operand.byte_offset();
  }
  bool of_module(const Operand& operand) const { return storages_[operand.storage].home == Home::weight; }

  // Whether anything reads a result besides the first: often those are for training alone.
  bool reads_behind_first(const TracedNode& node) const {
    return std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](const c10::IValue& output) {
      return readers_[trace_.tensors[trace_.id_of(output.toTensor())].storage] != 0;
    });
  }

  // Whether a node reads a result, not only the caller.
  bool is_read_by_node(const Operand& result) const {
    std::uint32_t returned = 0;
    for (const c10::IValue& value : trace_.results) {
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
        returned += trace_.tensors[trace_.id_of(tensor)].storage == result.storage ? 1 : 0;
      });
    }
    return result.storage < readers_.size() && readers_[result.storage] > returned;
  }

  // What the pointwise operations compute in that make the operand; none: something else makes it.
  std::optional<c10::ScalarType> type_of_maker(const Operand& operand) const {
    const std::uint32_t made = made_at_[operand.storage];
    if (made == kNone || drafts_[made].group == kNone) return std::nullopt;
    return groups_[drafts_[made].group].type;
  }

  // Whether the tensor's bytes are a part of a tensor that is joined later.
  bool is_placed(const at::Tensor& tensor) const {
    return placements_.count(trace_.tensors[trace_.id_of(tensor)].storage) != 0;
  }
  // It can not be written there after all. True: it was to be.
  bool displace(const at::Tensor& tensor) {
    return placements_.erase(trace_.tensors[trace_.id_of(tensor)].storage) != 0;
  }

  // --- what it becomes ---

  Address address(const Operand& operand) const { return {operand.storage, operand.byte_offset()}; }

  // A contiguous tensor of the plan's own.
  Operand temporary(Dims sizes, c10::ScalarType dtype = c10::kFloat) {
    Operand made{static_cast<StorageId>(storages_.size()), 0, std::move(sizes), {}, dtype};
    made.strides = dense_strides(made.sizes);
    storages_.push_back({.home = Home::produced, .bytes = made.count() * c10::elementSize(dtype)});
    made_at_.push_back(kNone);
    return made;
  }

  // Bytes of the plan's own that no call changes.
  Operand literal(Dims sizes, at::Tensor tensor) {
    Operand made{static_cast<StorageId>(storages_.size()), 0, std::move(sizes), {}, tensor.scalar_type()};
    made.strides = dense_strides(made.sizes);
    storages_.push_back({.home = Home::literal, .bytes = tensor.nbytes()});
    made_at_.push_back(kNone);
    literals_.emplace(made.storage, std::move(tensor));
    return made;
  }

  // A small constant of another type is converted while the plan is made.
  Operand constant_as(c10::ScalarType type, const Operand& operand) {
    if (operand.dtype == type || !is_constant(operand) || operand.count() > kConvertAtMost) return operand;
    const at::Tensor given = at::from_blob(const_cast<void*>(constant_bytes(operand)), operand.sizes,
                                           operand.strides, operand.dtype);
    return literal(operand.sizes, given.to(type).contiguous());
  }

  template <class P>
  void emit(P payload, std::vector<StorageId> reads, std::vector<StorageId> writes) {
    RunStep run = &P::run;
    if constexpr (requires { payload.runner(); }) run = payload.runner();
    payloads_.push_back(std::make_unique<P>(std::move(payload)));
    emit_owned(payloads_.back().get(), run, std::move(reads), std::move(writes));
  }
  // Of a payload that is in payloads() already.
  void emit_owned(Payload* payload, RunStep run, std::vector<StorageId> reads,
                  std::vector<StorageId> writes) {
    for (const StorageId written : writes) note_writer(written, static_cast<std::uint32_t>(drafts_.size()));
    drafts_.push_back({{run, payload, node_}, std::move(reads), std::move(writes), kNone});
  }

  // Joins the last group it fits into, or opens one. Operands are of types that element_of knows.
  void pointwise(const Compute& compute, c10::SmallVector<PointwiseInput, 3> inputs, Operand out) {
    for (PointwiseInput& input : inputs) {
      if (input.operand) input.operand = constant_as(compute.type, *input.operand);
    }
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

  // Lets the group that makes `rows.in` do this with its rows, and says whether it can: they must be short
  // and lie in order, and so must the results; `reads`, what the kernel reads besides, must be there by then.
  bool behind_group(GroupRows rows, const std::vector<StorageId>& reads) {
    const std::uint32_t made = made_at_[rows.in.storage];
    if (made == kNone || drafts_[made].group == kNone || rows.in.rank() < rows.row_rank) return false;
    Group& group = groups_[drafts_[made].group];
    const bool lies_in_order = rows.in.sizes == group.sizes && rows.in.is_contiguous() &&
                               group.ops.front().out.is_contiguous() && rows.out.is_contiguous() &&
                               rows.in.is_float() && rows.out.is_float() && group.type == c10::kFloat;
    const bool is_made_here = std::any_of(group.ops.begin(), group.ops.end(),
                                          [&](const PointwiseOp& op) { return op.out == rows.in; });
    if (!lies_in_order || !is_made_here) return false;
    if (rows.columns() > kTile || rows.columns() <= 1) return false;
    for (const StorageId read : reads) {
      if (made_at_[read] != kNone && made_at_[read] >= group.position) return false;
    }
    Draft& draft = drafts_[group.position];
    draft.reads.insert(draft.reads.end(), reads.begin(), reads.end());
    draft.writes.push_back(rows.out.storage);
    note_writer(rows.out.storage, static_cast<std::uint32_t>(group.position));
    group.rows.push_back(std::move(rows));
    return true;
  }

  // The step that alone writes the operand's storage, if that is of this kind and but `readers` nodes and
  // results read it. What it writes besides are temporaries of its own.
  template <class P>
  Draft* sole_maker(const Operand& operand, std::size_t readers) {
    const std::uint32_t made = made_at_[operand.storage];
    if (made == kNone || operand.storage >= trace_.storages.size() ||
        dynamic_cast<const P*>(drafts_[made].step.payload) == nullptr ||
        drafts_[made].writes.front() != operand.storage || readers_[operand.storage] != readers) {
      return nullptr;
    }
    return &drafts_[made];
  }
  // That step writes another operand instead.
  void redirect(Draft& draft, const Operand& to) {
    draft.writes.front() = to.storage;
    note_writer(to.storage, static_cast<std::uint32_t>(&draft - drafts_.data()));
  }

  // The same elements in rows that are contiguous, or in one piece: copied when they are not already.
  Operand contiguous(Operand operand);
  // Where a step writes that makes contiguous results only: it, or a temporary to be copied from.
  Operand made_contiguous(const Operand& out) {
    return out.is_contiguous() ? out : temporary(out.sizes, out.dtype);
  }
  // Copies it when the elements of a row do not follow each other. False: they still do not.
  bool make_rows(Operand& operand);

  // The draft that completes the storage; kNone: it is none that a step writes.
  std::uint32_t maker_of(StorageId storage) const { return made_at_[storage]; }

  const Trace& trace() const { return trace_; }
  std::vector<Draft>& drafts() { return drafts_; }
  std::vector<Group>& groups() { return groups_; }
  std::vector<TracedStorage>& storages() { return storages_; }
  std::vector<std::unique_ptr<Payload>>& payloads() { return payloads_; }
  std::unordered_map<StorageId, at::Tensor>& literals() { return literals_; }
  std::uint32_t node() const { return node_; }
  // Entries of the table of bases: scratch of fused steps, and null, from which an address counts as it is.
  StorageId scratch() const { return scratch_; }
  StorageId absolute() const { return scratch_ + 1; }

  const void* constant_base(StorageId storage) const {
    const auto known = literals_.find(storage);
    if (known != literals_.end()) return known->second.const_data_ptr();
    return tensor_of(storage).storage().data();
  }
  const at::Tensor& tensor_of(StorageId storage) const {
    if (first_tensor_.empty()) {
      first_tensor_.resize(trace_.storages.size(), kNone);
      for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
        TensorId& first = first_tensor_[trace_.tensors[id].storage];
        if (first == kNone) first = id;
      }
    }
    return trace_.tensors[first_tensor_[storage]].recorded;
  }
  // The address of an argument is that of its first element, of all else that of its storage. In elements of
  // the view, which are no larger than the argument's.
  std::int64_t base_offset(StorageId storage, std::int64_t element_size) const {
    if (storages_[storage].home != Home::input) return 0;
    const at::Tensor& base = tensor_of(storage);
    return base.storage_offset() * (base.element_size() / element_size);
  }

 private:
  static constexpr std::size_t kGroupsLookedAt = 4;
  static constexpr std::size_t kConvertAtMost = std::size_t{1} << 14;  // elements of a constant
  static constexpr std::size_t kMostOps = 64;

  bool may_join(const PointwiseOp& op, const Group& group, std::uint32_t g) const {
    if (group.sizes != op.out.sizes || group.type != op.compute.type || group.ops.size() >= kMostOps)
      return false;
    for (const PointwiseInput& input : op.inputs) {
      if (!input.operand) continue;
      const std::uint32_t made = made_at_[input.operand->storage];
      if (made == kNone || made < group.position) continue;
      if (made != group.position || drafts_[made].group != g) return false;
      const bool as_written = std::any_of(group.ops.begin(), group.ops.end(), [&](const PointwiseOp& maker) {
        return maker.out == *input.operand && !is_changed_by_memory(maker.out, group);
      });
      if (!as_written) return false;
    }
    return true;
  }

  // Fractions, high bits and digits are lost in it: who wants what is left reads it from there. (Groups of
  // floats round to bfloat16 themselves.)
  static bool is_changed_by_memory(const Operand& made, const Group& group) {
    if (made.dtype == group.type) return false;
    return c10::isIntegralType(made.dtype, /*includeBool=*/false) ||
           (group.type == c10::kDouble && c10::isFloatingType(made.dtype));
  }

  // Of several writers, who fill parts of it, the last.
  void note_writer(StorageId storage, std::uint32_t draft) {
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

  const Trace& trace_;
  bool exact_;
  unsigned asked_ = 0;
  std::vector<std::uint32_t> readers_;  // by storage of the record: how often a node or a result reads it
  Placements placements_;
  std::uint32_t node_ = 0;
  StorageId scratch_ = 0;
  std::vector<TracedStorage> storages_;  // of the record, then the plan's own
  std::vector<std::uint32_t> made_at_;   // by storage: the draft that writes it
  std::vector<Draft> drafts_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<Payload>> payloads_;
  std::unordered_map<StorageId, at::Tensor> literals_;
  mutable std::vector<TensorId> first_tensor_;
};

// How one operator is lowered: false, having emitted nothing, when it is not this time.
using LowerFunction = bool (*)(Lowering& lowering, const TracedNode& node);

}  // namespace sr::replay
