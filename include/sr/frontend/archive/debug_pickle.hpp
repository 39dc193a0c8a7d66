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
  explicit DebugPickle(std::string_view pickle) : rest_(pickle) {}

  // Returns nothing if the pickle is damaged, or has an instruction that LibTorch does not write in such
  // records.
  std::optional<DebugValue> read() {
    while (!rest_.empty()) {
      const auto code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') return is_intact_ && stack_.size() == 1 ? std::optional(stack_[0]) : std::nullopt;
      run(code);
      if (!is_intact_) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::string_view take(std::uint64_t count) {
    is_intact_ &= count <= rest_.size();
    const std::string_view taken = rest_.substr(0, is_intact_ ? count : 0);
    rest_.remove_prefix(taken.size());
    return is_intact_ ? taken : std::string_view("\0\0\0\0\0\0\0\0", 8);
  }
  std::int64_t number(unsigned width) {
    const std::string_view bytes = take(width);
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(value);
  }

  void push(DebugValue value) { stack_.push_back(std::move(value)); }
  void push_number(std::int64_t number) { push({.number = number}); }

  // The last `count` values.
  DebugValue::Items pop(std::size_t count) {
    is_intact_ &= count <= stack_.size() - (marks_.empty() ? 0 : marks_.back());
    if (!is_intact_) return {};
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    DebugValue::Items values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }
  DebugValue::Items pop_to_mark() {
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

  void run(unsigned char code) {
    // clang-format off
    switch (code) {
      case 0x80: take(1); return;  // version
      case 'K': return push_number(number(1));
      case 'M': return push_number(number(2));
      case 'J': return push_number(static_cast<std::int32_t>(number(4)));
      case 0x8a: return take_long();
      case 'N': return push({});
      case 'X': return push({.text = take(static_cast<std::uint64_t>(number(4)))});
      case '(': marks_.push_back(stack_.size()); return;
      case 't': return push_tuple(pop_to_mark());
      case 0x85: return push_tuple(pop(1));
      case 0x86: return push_tuple(pop(2));
      case 0x87: return push_tuple(pop(3));
      case ')': case ']': return push_tuple({});
      case 'e': return append(pop_to_mark());
      case 'a': return append(pop(1));
      case 'q': return remember(number(1));
      case 'r': return remember(number(4));
      case 'h': return recall(number(1));
      case 'j': return recall(number(4));
      case 'c': take_line(); take_line(); return push({});
      case 'R': return call();
      default: is_intact_ = false;
    }
    // clang-format on
  }

  void take_long() {
    const auto width = static_cast<unsigned>(number(1));
    is_intact_ &= width <= sizeof(std::int64_t);
    push_number(is_intact_ ? number(width) : 0);
  }
  void take_line() { take(std::min(rest_.find('\n'), rest_.size()) + 1); }
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

  std::string_view rest_;
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
