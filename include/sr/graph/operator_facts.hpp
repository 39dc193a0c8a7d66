// What is known of operators beside their schemas. Entries of operators say it (Facts in
// registry/operator_parts.hpp); passes, alias analysis and recording ask for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ATen/core/interned_strings.h>

namespace sr {

// A fact holds for all overloads of a name.
enum class Fact : std::uint32_t {
  // Returns numbers, flags or strings that depend on the metadata of tensors and never on their elements.
  reads_metadata_only = 1U << 0,
  // Builds, unpacks or copies containers and reads no tensor in them. Does not hold for
  // overloads on tensors.
  moves_values = 1U << 1,
  // Compares elements of lists.
  compares_elements = 1U << 2,
  // Asks whether two names refer to one value, which no signature states.
  compares_identity = 1U << 3,
  // Asks what no signature states of a tensor: how often it was written, where its elements begin in its
  // storage, what autograd and inference mode know of it.
  asks_hidden_state = 1U << 4,
  // Reads the storage of its first input beyond the elements of the tensor.
  reads_whole_storage = 1U << 5,
  // Returns a view whose offset counts from the beginning of the first input's storage.
  views_whole_storage = 1U << 6,
  // Reads only sizes or dtype of its second tensor.
  takes_shape_of_second = 1U << 7,
  // Returns uninitialised elements.
  leaves_new_memory = 1U << 8,
  // Has an effect, or an answer that does not follow from its arguments: a replay would not repeat it.
  // Queries
  // of gradient mode do not count, because calls of sr compute no gradients. Nor do queries of autocast,
  // because calls under autocast are not replayed.
  unrepeatable = 1U << 9,
  // A norm that writes its running statistics, arguments 3 and 4, if argument 5 is true. Its schema does not
  // say so; LibTorch's AliasDb knows it by name (analyzeBatchNorm, analyzeInstanceNorm).
  trains_statistics = 1U << 10,
  // A composite operator that calls a kernel whatever its arguments are: every result is a new tensor.
  // Overloads of which a functor of sr makes the results need not say it.
  makes_new_results = 1U << 11,
  // In place: the functional twin returns the dtype and sizes of the written tensor and rejects the same
  // arguments. Operators that promote dtypes or broadcast (add_, eq_, sigmoid_ on integers) do not.
  same_when_functional = 1U << 12,
  // In place: the functional twin maps floats to floats of the same sizes, and 64-bit integers to such where
  // LibTorch lets the operator write them.
  functional_on_floats = 1U << 13,
  // The `.out` overload of LibTorch 2.13 computes something else than the functional one, as
  // ./dev test conformance found: LibTorch's interpreter runs the operator.
  out_differs = 1U << 14,
  // In place: the written tensor takes the storage of another argument. No schema says that they alias.
  takes_storage = 1U << 15,
};

using FactMask = std::uint32_t;
constexpr FactMask mask_of(Fact fact) {
  return static_cast<FactMask>(fact);
}

// Static initialisers fill it, also those of libraries loaded later. Thread-safe.
class FactTable {
 public:
  void add(c10::Symbol name, FactMask facts) {
    const std::unique_lock lock(mutex_);
    facts_[name] |= facts;
  }

  FactMask of(c10::Symbol name) const {
    const std::shared_lock lock(mutex_);
    const auto found = facts_.find(name);
    return found == facts_.end() ? 0 : found->second;
  }

  // A functor of sr makes all results of the overload `key`, "aten::var.dim": no result is an argument.
  void add_new_results(std::string_view key) {
    const std::unique_lock lock(mutex_);
    new_results_.emplace(key);
  }

  bool makes_new_results(const std::string& key) const {
    const std::shared_lock lock(mutex_);
    return new_results_.count(key) != 0;
  }

  // In no order.
  std::vector<c10::Symbol> names_with(Fact fact) const {
    const std::shared_lock lock(mutex_);
    std::vector<c10::Symbol> names;
    for (const auto& [name, facts] : facts_) {
      if ((facts & mask_of(fact)) != 0) names.push_back(name);
    }
    return names;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<c10::Symbol, FactMask> facts_;
  std::unordered_set<std::string> new_results_;  // keys of overloads
};

inline FactTable& fact_table() {
  static FactTable table;
  return table;
}

// `name` is the kind of a node, "aten::size". An operator of which nothing is known has no fact.
inline bool has_fact(c10::Symbol name, Fact fact) {
  return (fact_table().of(name) & mask_of(fact)) != 0;
}

}  // namespace sr
