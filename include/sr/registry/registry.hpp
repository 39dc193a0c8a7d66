// The operators of sr by key: "name.overload" of a schema, or the kind of a prim:: node.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include <c10/util/Type.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/graph/node_functions.hpp>
#include <sr/registry/operator_entry.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/registry/schema_check.hpp>

namespace sr {

namespace detail {

// By name: two libraries may have a type_info each for one functor.
inline bool is_same(const std::type_info& a, const std::type_info& b) {
  return std::string_view(a.name()) == b.name();
}

}  // namespace detail

// Static initialisers fill it, also those of libraries loaded later; the preparation of modules reads it.
// Thread-safe.
class Registry {
 public:
  // Throws RegistryError if another functor has the key. The same functor may register again (one header in
  // two shared libraries); the first registration stays.
  void add(const OperatorEntry& entry) {
    const std::unique_lock lock(mutex_);
    const auto [position, inserted] = table_of(entry.kind).try_emplace(entry.key, entry);
    if (!inserted && !detail::is_same(*position->second.functor, *entry.functor)) {
      throw RegistryError("Two functors are registered for " + std::string(entry.key) + ": " +
                          functor_name(position->second) + " and " + functor_name(entry) +
                          ". Remove one, or give it another schema.");
    }
  }

  // Returns null also if LibTorch's operator is no longer the one that the entry was compiled for. Entries
  // stay where they are.
  const OperatorEntry* find(std::string_view key, NodeKind kind) const {
    const OperatorEntry* found = nullptr;
    {
      const std::shared_lock lock(mutex_);
      const auto& table = kind == NodeKind::out_variant ? out_variants_ : natives_;
      if (const auto position = table.find(key); position != table.end()) found = &position->second;
    }
    if (found == nullptr || !detail::is_libtorchs(std::string(key), std::string(found->schema)))
      return nullptr;
    return found;
  }

  // Throws RegistryError if the operator has other parts.
  void add(const OperatorParts& spec) {
    const std::unique_lock lock(mutex_);
    const auto [position, inserted] = operators_.try_emplace(std::string(spec.key), spec);
    if (!inserted && *position->second.parts != *spec.parts) {
      throw RegistryError("Two entries say how a replay runs " + std::string(spec.key) + ": " +
                          c10::demangle(position->second.parts->name()) + " and " +
                          c10::demangle(spec.parts->name()) + ". Remove one, or give it another schema.");
    }
  }

  // What entries say of the operator; nothing if no entry has parts, or if LibTorch's operator is no longer
  // the one that they were compiled for.
  OperatorParts operator_of(const std::string& key) const {
    OperatorParts found;
    {
      const std::shared_lock lock(mutex_);
      if (const auto position = operators_.find(key); position != operators_.end()) found = position->second;
    }
    return detail::is_libtorchs(key, std::string(found.schema)) ? found : OperatorParts{};
  }

  // The operators of which entries say anything, sorted by key.
  std::vector<OperatorParts> operators() const {
    const std::shared_lock lock(mutex_);
    std::vector<OperatorParts> all;
    for (const auto& [key, spec] : operators_) all.push_back(spec);
    std::ranges::sort(all, {}, &OperatorParts::key);
    return all;
  }

  std::vector<OperatorEntry> entries() const {
    const std::shared_lock lock(mutex_);
    std::vector<OperatorEntry> all;
    for (const auto& [key, entry] : out_variants_) all.push_back(entry);
    for (const auto& [key, entry] : natives_) all.push_back(entry);
    std::sort(all.begin(), all.end(), [](const OperatorEntry& a, const OperatorEntry& b) {
      return a.key != b.key ? a.key < b.key : a.kind < b.kind;
    });
    return all;
  }

  bool empty() const {
    const std::shared_lock lock(mutex_);
    return out_variants_.empty() && natives_.empty();
  }

 private:
  using Table = std::unordered_map<std::string_view, OperatorEntry>;  // keys of the entries
  Table& table_of(NodeKind kind) { return kind == NodeKind::out_variant ? out_variants_ : natives_; }

  mutable std::shared_mutex mutex_;
  Table out_variants_;
  Table natives_;
  std::unordered_map<std::string, OperatorParts> operators_;
};

inline Registry& registry() {
  static Registry instance;
  return instance;
}

// "name.overload", or the name alone if there is no overload name.
inline std::string key_of(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
}

// The key under which a node's operator is looked up.
inline std::string key_of(const torch::jit::Node& node) {
  if (const c10::FunctionSchema* schema = node.maybeSchema(); schema != nullptr && !node.kind().is_prim()) {
    return key_of(*schema);
  }
  return node.kind().toQualString();
}

}  // namespace sr
