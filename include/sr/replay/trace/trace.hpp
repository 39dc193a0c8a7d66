// One recorded call: the executed nodes in order, with branches taken, loops unrolled and containers
// dissolved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/sizes/tensor_layout.hpp>
#include <sr/replay/trace/environment.hpp>

namespace sr::replay {

using TensorId = std::uint32_t;
using StorageId = std::uint32_t;
using ValueId = std::uint32_t;  // a number or container that an interpreted node makes anew on each replay
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// To whom the bytes of a storage belong.
enum class Home : std::uint8_t {
  input,     // the caller's
  weight,    // a constant of the module: handed out as it is
  literal,   // computed from static values alone while recording: handed out as copies
  produced,  // written by a node with static metadata
  opaque     // allocated by an interpreted node on each replay
};

struct TracedStorage {
  Home home = Home::produced;
  std::uint32_t leaf = kNone;      // input: which tensor of the arguments, depth first
  std::uint32_t producer = kNone;  // produced, opaque: index of the traced node
  Size bytes = 0;
  bool channels_last = false;  // a program keeps the image there in NHWC, see ImageLayouts
  bool overwritten = false;    // the recorded bytes are those of a later write, which has its own storage
};

// One TensorImpl has one id; views of one storage have different ids.
struct TracedTensor {
  at::Tensor recorded;  // keeps the identity; its bytes count for nothing once lowered
  StorageId storage = kNone;
  TensorLayout layout;
  bool given = false;  // by the caller or the module; others, also views of these, a node has made
  // True if an interpreted node has made it, and no step depends on its sizes: they may be others in each
  // replay. If data decide them even in calls of one signature, nodes that only ask for them are interpreted.
  bool any_sizes = false, sizes_by_data = false;
};

enum class Role : std::uint8_t {
  compute,      // fresh outputs with static metadata: may become a kernel
  interpreted,  // metadata or scalars that depend on data, foreign code, control flow on data
  nothing       // another name for a value
};

// An integer argument of a node, or a list of integers, that differs between calls.
struct NumberInput {
  std::size_t input = 0;
  Dims values;
  bool is_operand = false;  // see LayoutRule::compute_with
};

struct TracedNode {
  const ProcessedNode* processed = nullptr;
  Role role = Role::compute;
  bool is_random = false;
  bool foreign = false;                 // may keep its inputs or hand them out: gets copies
  bool draws = false;                   // random numbers, all from LibTorch's default generator
  bool runs_once = false;               // a replay that ends behind it cannot be made again
  bool may_return_inputs = false;       // a replay copies a result that is an input, see aliased_results.hpp
  bool returned_input = false;          // in the recorded call; its output there is a copy
  std::vector<c10::IValue> inputs;      // as they were at this point (lists are copies)
  std::vector<ValueId> dynamic_inputs;  // kNone: static, or a tensor
  std::vector<c10::IValue> outputs;
  std::vector<ValueId> dynamic_outputs;  // kNone: a tensor, or a container of tensors
  std::vector<NumberInput> numbers;
  std::vector<StorageId> changed;  // what it writes in place
  TensorId known_tensors = 0;      // when it wrote: those from here on were made later
  std::string twin;  // key of the functional operator that takes its place, see functional_writes.hpp
  // Control flow that data decide: values from outside that its bodies read.
  std::vector<Slot> captured_slots;
  std::vector<c10::IValue> captured;
  std::vector<ValueId> dynamic_captured;
  std::vector<NumberInput> captured_numbers;  // of these values; `input` is the position among them
  bool changes_lists = false;                 // of numbers
  // Lists of numbers that the node changes, and that no other node of the trace has changed by data: each
  // replay begins with a copy, which is this value from then on. By position among the inputs, then among the
  // captured values.
  std::vector<std::pair<std::size_t, ValueId>> begins_lists;
};

// A storage that is computed from static values alone and changed later. Every replay starts with these
// bytes.
struct InitialBytes {
  StorageId storage = kNone;
  at::Tensor bytes;
};

// A variable or an argument that is written whole: its value is computed elsewhere, and copied to its memory
// at the end.
struct Commit {
  at::Tensor from, to;  // `to` is a leaf
};

// Numbers with which groups of elements are combined.
struct GroupNumbers {
  at::Tensor values;            // floats; undefined: the elements are as they were
  const void* given = nullptr;  // the constant of the module that holds them, if one does

  bool defined() const { return values.defined(); }
};

// The tensor that a literal was computed from, as (narrow - zeros) * scales. `narrow` is dense, and its
// elements lie in the same order as the literal's. It has int8 elements, or 16-bit floats; the latter have no
// zeros and scales. With zeros or scales it is contiguous and has 2 to 4 dimensions. They have its sizes
// without the last one, or, of 4 dimensions, without the last three.
struct NarrowConstant {
  TensorId narrow = kNone;
  GroupNumbers zeros, scales;
};

// An argument that is viewed in a larger dtype: its first element must be a multiple of `elements` elements
// behind the beginning of its storage.
struct WiderView {
  std::size_t argument = 0;
  std::int64_t elements = 1;
};

// A tensor that a block appends to a list from outside. The list is an input by value of the block.
struct AppendedTensor {
  ValueId list = kNone;
  at::Tensor tensor;
};

struct Trace {
  bool keeps_sizes_open = false;  // see FamilySignature
  std::vector<TracedStorage> storages;
  std::vector<TracedTensor> tensors;
  std::vector<TracedNode> nodes;
  std::unordered_map<const c10::TensorImpl*, TensorId> ids;
  std::unordered_map<const void*, ValueId> dynamic_containers;
  // The elements of tuples that are only returned, by the address of the tuple; kNone: as in dynamic_outputs.
  std::unordered_map<const void*, std::vector<ValueId>> dynamic_in_tuples;
  std::vector<InitialBytes> initial;
  std::unordered_map<StorageId, NarrowConstant> narrow;  // literals that narrower tensors can stand for
  // Results, then the lists and dictionaries of the arguments that nodes change, as they are at the end, then
  // the new values of variables.
  std::vector<c10::IValue> results;
  std::vector<ValueId> dynamic_results;
  // For each result: the integers in it, including those in nested tuples, depth first. An integer that is
  // equal in all calls is a constant.
  std::vector<std::vector<Size>> number_results;
  std::size_t result_count = 0;  // without those of variables
  // The lists and dictionaries of the arguments. Positions are those of each_container at the beginning of
  // the call. `repeated_containers` are given more than once. `changed_containers` are changed by nodes.
  std::unordered_map<const void*, std::uint32_t> given_containers;
  std::unordered_set<const void*> repeated_containers;
  std::map<std::uint32_t, c10::IValue> changed_containers;
  std::uint32_t leaf_count = 0;
  std::uint32_t first_state_leaf = 0;         // leaves from here on are of variables
  std::set<std::uint32_t> written_arguments;  // leaves of arguments that nodes write in place
  std::vector<AppendedTensor> appended;       // in order; they are the last results
  // Lists of tensors among the results that blocks have changed, by the address of the empty list that stands
  // for each of them in `results`.
  std::unordered_map<const void*, c10::IValue> returned_lists;
  std::vector<Commit> commits;
  std::vector<WiderView> wider_views;
  ValueId value_count = 0;
  bool draws_random_numbers = false;
  bool is_of_block = false;             // not of a call of the module
  Environment environment;              // of the call
  unsigned asked = 0;                   // parts of it that a replay depends on
  std::unordered_set<const void*> own;  // containers made in the call
  std::string bailout;                  // why no program can be made of it, in a sentence; empty: it can
  bool answers_otherwise = false;   // results may not be those of the call, which has to be made once more
  bool bailout_is_of_call = false;  // because of these very arguments: others of the signature may do
  std::vector<std::uint32_t> loops_by_data;  // bodies; the recording has found out too late
  std::vector<c10::IValue> kept;             // so that no address is used twice while recording

  // Returns a tuple of the same type with other elements, which data decide as they do those of `tuple`.
  c10::IValue tuple_like(const c10::IValue& tuple, std::vector<c10::IValue> elements) {
    c10::IValue made = sr::detail::tuple_of(sr::detail::type_of_tuple(tuple), std::move(elements));
    if (const auto by_data = dynamic_in_tuples.find(tuple.internalToPointer());
        by_data != dynamic_in_tuples.end()) {
      const std::vector<ValueId> same = by_data->second;
      dynamic_in_tuples[made.internalToPointer()] = same;
    }
    return made;
  }

  TensorId id_of(const at::Tensor& tensor) const { return ids.at(tensor.unsafeGetTensorImpl()); }
  // True if data decide which blocks run.
  bool has_blocks() const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const TracedNode& node) { return !node.processed->sub_blocks.empty(); });
  }
  bool is_state(const TracedStorage& storage) const {
    return storage.home == Home::input && storage.leaf >= first_state_leaf;
  }
  bool is_written_argument(const TracedStorage& storage) const {
    return storage.home == Home::input && written_arguments.count(storage.leaf) != 0;
  }
  // True if what nodes write there is seen after the call.
  bool outlives_call(const TracedStorage& storage) const {
    return is_state(storage) || is_written_argument(storage);
  }
  StorageId storage_id_of(const at::Tensor& tensor) const { return tensors[id_of(tensor)].storage; }
  const TracedStorage& storage_of(TensorId id) const { return storages[tensors[id].storage]; }
  const at::Tensor& tensor(TensorId id) const { return tensors[id].recorded; }
  const TensorLayout& layout_of(const at::Tensor& tensor) const { return tensors[id_of(tensor)].layout; }
};

}  // namespace sr::replay
