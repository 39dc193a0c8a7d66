// Which lines of Python the code in an archive of torch.jit.save was made of: its records `.debug_pkl`.
//
// LibTorch's own reader throws from a noexcept function, or reads beyond a table, where such a record is not
// as it writes them; this one finds nothing then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/frontend/source_range.h>

#include <sr/frontend/archive/pickle_instructions.hpp>

namespace sr::detail {

// A value of the few kinds that these pickles have. Texts lie in the pickle.
struct DebugValue {
  using Items = std::vector<DebugValue>;

  std::int64_t number = -1;
  std::string_view text = {};
  std::shared_ptr<Items> items = nullptr;  // of tuples and lists; the same for values that the pickle repeats
  int depth = 0;                           // of nested tuples

  // The i-th item; a value of no kind if there is none.
  const DebugValue& operator[](std::size_t i) const {
    static const DebugValue none;
    return items != nullptr && i < items->size() ? (*items)[i] : none;
  }
};

// Runs the instructions of such a pickle. A list of integers is a call of one function, with a list, whose
// result is the list.
class DebugPickle {
 public:
  explicit DebugPickle(std::string_view pickle) : instructions_(pickle) {}

  // Returns nothing if the pickle is damaged, or has an instruction that LibTorch does not write in such
  // records.
  std::optional<DebugValue> read() {
    while (is_intact_) {
      const PickleInstruction next = instructions_.next();
      if (next.kind == PickleInstruction::Kind::stop)
        return stack_.size() == 1 ? std::optional(stack_[0]) : std::nullopt;
      run(next);
    }
    return std::nullopt;
  }

 private:
  void push(DebugValue value) { stack_.push_back(std::move(value)); }

  // The last `count` values.
  DebugValue::Items pop(std::size_t count) {
    is_intact_ &= count <= stack_.size() - (marks_.empty() ? 0 : marks_.back());
    if (!is_intact_) return {};
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    DebugValue::Items values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }
  DebugValue::Items pop(const PickleInstruction& next) {
    if (next.count != PickleInstruction::kToMark) return pop(next.count);
    is_intact_ &= !marks_.empty();
    if (!is_intact_) return {};
    const DebugValue::Items values = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }
  void push_tuple(DebugValue::Items items) {
    constexpr int kDeepest = 8;  // LibTorch nests four; values are destroyed by recursion
    DebugValue made;
    for (const DebugValue& item : items) made.depth = std::max(made.depth, item.depth + 1);
    is_intact_ &= made.depth < kDeepest;
    made.items = std::make_shared<DebugValue::Items>(std::move(items));
    push(std::move(made));
  }

  void run(const PickleInstruction& next) {
    using Kind = PickleInstruction::Kind;
    // clang-format off
    switch (next.kind) {
      case Kind::nothing: return;
      case Kind::integer: is_intact_ &= !next.is_wide; return push({.number = next.number});
      case Kind::none: case Kind::global: return push({});
      case Kind::text: return push({.text = next.text});
      case Kind::mark: marks_.push_back(stack_.size()); return;
      case Kind::empty_list: case Kind::empty_tuple: return push_tuple({});
      case Kind::tuple: return push_tuple(pop(next));
      case Kind::append: return append(pop(next));
      case Kind::remember: return remember(next.number);
      case Kind::recall: return recall(next.number);
      case Kind::call: return call();
      default: is_intact_ = false;
    }
    // clang-format on
  }

  // Lists hold numbers, so that none contains itself.
  void append(const DebugValue::Items& items) {
    is_intact_ &= !stack_.empty() && stack_.back().items != nullptr &&
                  std::ranges::all_of(items, [](const DebugValue& item) { return item.items == nullptr; });
    if (is_intact_) stack_.back().items->insert(stack_.back().items->end(), items.begin(), items.end());
  }
  void remember(std::int64_t key) {
    is_intact_ &= !stack_.empty();
    if (is_intact_) memo_[key] = stack_.back();
  }
  void recall(std::int64_t key) {
    const auto found = memo_.find(key);
    is_intact_ &= found != memo_.end();
    if (is_intact_) push(found->second);
  }
  void call() {
    const DebugValue::Items both = pop(2);  // the function, and a tuple of its argument
    if (is_intact_) push(both[1][0]);
  }

  PickleInstructions instructions_;
  bool is_intact_ = true;
  DebugValue::Items stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::int64_t, DebugValue> memo_;
};

// For places in one file of an archive's code, the places in the user's code that they were made of.
class SourceMap {
 public:
  explicit SourceMap(std::string_view pickle) {
    const std::optional<DebugValue> all = DebugPickle(pickle).read();
    if (!all || (*all)[0].text != "FORMAT_WITH_STRING_TABLE" || (*all)[2].items == nullptr) return;
    const DebugValue &texts = (*all)[1], &entries = (*all)[2];
    for (const DebugValue& entry : *entries.items) {  // (place, ((lines, file, first line), begin, end), tag)
      const DebugValue& range = entry[1];
      const std::int64_t begin = range[1].number, end = range[2].number;
      auto source = source_of(texts, range[0]);
      if (source != nullptr && (begin < 0 || end < begin || end > static_cast<std::int64_t>(source->size())))
        source = nullptr;
      places_.push_back({entry[0].number, std::move(source), begin, end});
    }
    std::ranges::stable_sort(places_, {}, &Place::at);
  }

  std::optional<torch::jit::SourceRange> find(std::size_t at) const {
    const auto behind = std::ranges::upper_bound(places_, static_cast<std::int64_t>(at), {}, &Place::at);
    if (behind == places_.begin()) return std::nullopt;
    const Place& place = *std::prev(behind);
    if (place.source == nullptr) return std::nullopt;
    return torch::jit::SourceRange(place.source, static_cast<std::size_t>(place.begin),
                                   static_cast<std::size_t>(place.end));
  }

 private:
  using Source = std::shared_ptr<torch::jit::Source>;
  struct Place {
    std::int64_t at;
    Source source;
    std::int64_t begin, end;
  };

  // Returns null for generated code.
  Source source_of(const DebugValue& texts, const DebugValue& source) {
    if (source.items == nullptr) return nullptr;
    const auto [known, is_new] = sources_.try_emplace(source.items.get());
    if (!is_new) return known->second;
    const DebugValue& file = texts[static_cast<std::size_t>(source[1].number)];
    if (file.text.empty() || source[0].items == nullptr || source[2].number < 0) return nullptr;
    std::string text;
    for (const DebugValue& line : *source[0].items) text += texts[static_cast<std::size_t>(line.number)].text;
    known->second = std::make_shared<torch::jit::Source>(std::move(text), std::string(file.text),
                                                         static_cast<std::size_t>(source[2].number));
    return known->second;
  }

  std::vector<Place> places_;
  std::unordered_map<const DebugValue::Items*, Source> sources_;
};

}  // namespace sr::detail
