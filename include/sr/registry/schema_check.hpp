// True if the LibTorch that runs has an operator as it was when sr was compiled.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace sr::detail {

// LibTorch's schema of "name.overload"; nothing if it has no such operator (yet).
inline std::optional<c10::FunctionSchema> libtorch_schema(const std::string& key) {
  const std::size_t dot = key.find('.');
  const c10::OperatorName name(key.substr(0, dot), dot == std::string::npos ? "" : key.substr(dot + 1));
  if (const auto handle = c10::Dispatcher::singleton().findSchema(name)) return handle->schema();
  for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name.name))) {
    if (op->schema().overload_name() == name.overload_name) return op->schema();
  }
  return std::nullopt;
}

// True if calls mean the same: names, types and order of arguments and results. Defaults may differ, since
// graphs hold every argument.
inline bool means_the_same(const c10::FunctionSchema& a, const c10::FunctionSchema& b) {
  const auto same_argument = [](const c10::Argument& one, const c10::Argument& other) {
    const auto writes = [](const c10::Argument& argument) {
      return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    };
    return one.name() == other.name() && *one.real_type() == *other.real_type() &&
           writes(one) == writes(other);
  };
  const auto same_type = [](const c10::Argument& one, const c10::Argument& other) {
    return *one.real_type() == *other.real_type();
  };
  return std::ranges::equal(a.arguments(), b.arguments(), same_argument) &&
         std::ranges::equal(a.returns(), b.returns(), same_type);
}

// True if LibTorch's operator `key` is the one of `schema`, with which sr's code for it was compiled. If not,
// warns once: the operator is then left to LibTorch. A schema without arguments says nothing. Thread-safe.
inline bool is_libtorchs(const std::string& key, const std::string& schema) {
  static std::mutex mutex;
  static std::unordered_map<std::string, bool> known;  // by schema
  if (schema.find('(') == std::string::npos) return true;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(schema); found != known.end()) return found->second;
  const std::optional<c10::FunctionSchema> theirs = libtorch_schema(key);
  if (!theirs) return true;  // a library that is loaded later may bring it
  const bool same = means_the_same(torch::jit::parseSchema(schema), *theirs);
  if (!same) {
    TORCH_WARN("sr was compiled for the operator ", schema, ", but this LibTorch has ", *theirs,
               ". sr leaves it to LibTorch, which is slower. Build sr with this version of LibTorch.");
  }
  known.emplace(schema, same);
  return same;
}

}  // namespace sr::detail
