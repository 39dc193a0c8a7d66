// What a pickle would make, without making it. LibTorch types and destroys values by recursion, so that a
// crafted file could exhaust the stack. The time of its alias analysis doubles with each level of nested
// tuples. It believes a pickle that says how large its storages are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sr/frontend/archive/pickle_instructions.hpp>

namespace sr::detail {

// Reads the instructions of a pickle that LibTorch or torch.save writes, and keeps what is asked of each
// value instead of the value. The pickle must outlive it.
class PickleOutline {
 public:
  // A storage that the pickle asks for: the name of its class, as FloatStorage, the name of its record, and
  // the number of its elements.
  struct Storage {
    std::string_view type, record;
    std::int64_t count = 0;
  };

  static constexpr std::string_view kTooDeep = "nests values too deep";
  static constexpr std::uint32_t kMaxTuples = 16;  // levels of tuples, for the alias analysis
  static constexpr std::string_view kTuplesTooDeep = "nests tuples more than 16 deep";
  static constexpr std::string_view kChangesPart = "changes a value that is a part of another one";

  explicit PickleOutline(std::string_view pickle) : instructions_(pickle) {}

  // What is wrong with the pickle, as the end of a sentence about it; empty if nothing is. More than `limit`
  // levels of nested values are wrong, more than `tuple_limit` levels of tuples directly in tuples, and an
  // instruction that LibTorch does not know.
  std::string_view problem(std::uint32_t limit, std::uint32_t tuple_limit) {
    while (problem_.empty() && step()) {
      if (deepest_ > limit) {
        problem_ = kTooDeep;
      } else if (deepest_tuple_ > tuple_limit) {
        problem_ = kTuplesTooDeep;
      }
    }
    return problem_;
  }
  std::string_view problem(std::uint32_t limit) { return problem(limit, limit); }

  // Those of a pickle without a problem.
  const std::vector<Storage>& storages() const { return storages_; }

 private:
  struct Value {
    std::uint32_t depth = 0;
    std::uint32_t tuples = 0;                   // of a tuple: levels of tuples directly in tuples
    bool is_part = false;                       // of another value
    std::optional<std::int64_t> number = {};    // of an integer
    std::optional<std::string_view> text = {};  // of a string, or the class of a global name
    std::optional<Storage> storage = {};        // of a tuple that names one
  };
  using Position = std::uint32_t;  // in `values_`: several places of the stack may hold one value

  bool step() {
    using Kind = PickleInstruction::Kind;
    const PickleInstruction next = instructions_.next();
    // clang-format off
    switch (next.kind) {
      case Kind::stop: return false;
      case Kind::nothing: break;
      case Kind::none: case Kind::boolean: case Kind::real: case Kind::empty_list: case Kind::empty_dict:
      case Kind::empty_tuple: push(0); break;
      case Kind::integer: integer(next); break;
      case Kind::text: case Kind::global: text(next.text); break;
      case Kind::stack_global: take(2); push(0); break;
      case Kind::tuple: tuple(counted(next)); break;
      case Kind::append: case Kind::set_items: add(counted(next)); break;
      case Kind::set_state: add(1); break;
      case Kind::mark: marks_.push_back(stack_.size()); break;
      case Kind::drop: take(counted(next)); break;
      case Kind::storage: storage(); break;
      case Kind::call: wrap(2); break;
      case Kind::remember: remember(next.number); break;
      case Kind::recall: recall(next.number); break;
      case Kind::unknown: problem_ = "has an instruction that TorchScript does not write"; break;
      case Kind::cut_short: problem_ = "ends in the middle of a value"; break;
    }
    // clang-format on
    return true;
  }

  void text(std::string_view text) {
    push(0);
    values_.back().text = text;
  }
  // One of more than eight bytes is none that LibTorch takes for a size.
  void integer(const PickleInstruction& next) {
    push(0);
    if (next.count <= 8) values_.back().number = next.number;
  }

  void push(std::uint32_t depth) {
    stack_.push_back(static_cast<Position>(values_.size()));
    values_.push_back({depth});
    deepest_ = std::max(deepest_, depth);
  }
  Position pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
      problem_ = "takes more values than it has";
      return 0;
    }
    const Position top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::size_t counted(const PickleInstruction& next) {
    if (next.count != PickleInstruction::kToMark) return next.count;
    if (marks_.empty()) {
      problem_ = "has an end of a list without a begin";
      return 0;
    }
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }

  // The depth of a value that holds the last `count` ones.
  std::uint32_t take(std::size_t count) {
    std::uint32_t depth = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Position part = pop();
      if (!problem_.empty()) return 0;
      values_[part].is_part = true;
      depth = std::max(depth, values_[part].depth + 1);
    }
    return depth;
  }
  void wrap(std::size_t count) { push(take(count)); }

  // ('storage', class, record, device, elements) names a storage. Python adds to it for views.
  void tuple(std::size_t count) {
    std::optional<Storage> named;
    std::uint32_t tuples = 0;
    for (std::size_t i = stack_.size() - std::min(count, stack_.size()); i < stack_.size(); ++i)
      tuples = std::max(tuples, values_[stack_[i]].tuples);
    if (count >= 5 && count <= stack_.size()) {
      const auto part = [&](std::size_t i) -> const Value& {
        return values_[stack_[stack_.size() - count + i]];
      };
      if (part(0).text == "storage" && part(1).text && part(2).text && part(4).number)
        named = {*part(1).text, *part(2).text, *part(4).number};
    }
    wrap(count);
    if (!problem_.empty()) return;
    values_.back().storage = named;
    values_.back().tuples = tuples + 1;
    deepest_tuple_ = std::max(deepest_tuple_, tuples + 1);
  }
  void storage() {
    const Position top = pop();
    if (!problem_.empty()) return;
    if (!values_[top].storage) {
      problem_ = "asks for a storage without saying its class, record and size";
      return;
    }
    storages_.push_back(*values_[top].storage);
    stack_.push_back(top);
    wrap(1);
  }

  // To the value below the last `count` ones. Once it is a part of another value, it does not change: the
  // depth of that one would be wrong.
  void add(std::size_t count) {
    const std::uint32_t depth = take(count);
    const Position target = pop();
    if (!problem_.empty()) return;
    if (values_[target].is_part && depth > values_[target].depth) {
      problem_ = kChangesPart;
      return;
    }
    values_[target].depth = std::max(values_[target].depth, depth);
    deepest_ = std::max(deepest_, depth);
    stack_.push_back(target);
  }

  // LibTorch keeps a table up to the largest number. Writers number the values that they recall in turn.
  void remember(std::int64_t number) {
    const Position top = pop();
    if (!problem_.empty()) return;
    const auto key = number == PickleInstruction::kNext ? memo_.size() : static_cast<std::uint64_t>(number);
    if (key > memo_.size()) {
      problem_ = "numbers a value out of turn";
      return;
    }
    stack_.push_back(top);
    memo_[key] = top;
  }
  void recall(std::int64_t number) {
    const auto found = memo_.find(static_cast<std::uint64_t>(number));
    if (found == memo_.end()) {
      problem_ = "recalls a value it never had";
      return;
    }
    stack_.push_back(found->second);
  }

  PickleInstructions instructions_;
  std::string_view problem_;
  std::vector<Value> values_;
  std::vector<Storage> storages_;
  std::vector<Position> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Position> memo_;
  std::uint32_t deepest_ = 0, deepest_tuple_ = 0;
};

}  // namespace sr::detail
