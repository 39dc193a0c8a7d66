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

  explicit PickleOutline(std::string_view pickle) : rest_(pickle) {}

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
    const std::uint64_t code = number(1);
    if (!problem_.empty()) return false;
    // clang-format off
    switch (code) {
      case '.': return false;
      case 0x80: skip(1); break;                                            // PROTO
      case 0x95: skip(8); break;                                            // FRAME
      case 'N': case 0x88: case 0x89: case ']': case '}': case ')': push(0); break;
      case 'K': integer(number(1)); break;                                  // BININT1
      case 'M': integer(number(2)); break;                                  // BININT2
      case 'J': integer(static_cast<std::int32_t>(number(4))); break;       // BININT
      case 'G': skip(8); push(0); break;                                    // BINFLOAT
      case 0x8a: long_integer(number(1)); break;                            // LONG1
      case 0x8c: case 'U': text(number(1)); break;                          // SHORT_BINUNICODE, SHORT_BINSTRING
      case 'X': case 'T': text(number(4)); break;                           // BINUNICODE, BINSTRING
      case 0x8b: skip(number(4)); push(0); break;                           // LONG4
      case 0x8d: text(number(8)); break;                                    // BINUNICODE8
      case 'c': line(); add_text(line()); break;                            // GLOBAL
      case '(': marks_.push_back(stack_.size()); break;                     // MARK
      case '0': pop(); break;                                               // POP
      case '1': take(since_mark()); break;                                  // POP_MARK
      case 0x93: take(2); push(0); break;                                   // STACK_GLOBAL
      case 0x94: remember(memo_.size()); break;                             // MEMOIZE
      case 't': tuple(since_mark()); break;                                 // TUPLE
      case 0x85: tuple(1); break;                                           // TUPLE1
      case 'Q': storage(); break;                                           // BINPERSID
      case 0x86: tuple(2); break;                                           // TUPLE2
      case 'R': case 0x81: wrap(2); break;                                  // REDUCE, NEWOBJ
      case 0x87: tuple(3); break;                                           // TUPLE3
      case 'a': case 'b': add(1); break;                                    // APPEND, BUILD
      case 's': add(2); break;                                              // SETITEM
      case 'e': case 'u': add(since_mark()); break;                         // APPENDS, SETITEMS
      case 'q': remember(number(1)); break;                                 // BINPUT
      case 'r': remember(number(4)); break;                                 // LONG_BINPUT
      case 'h': recall(number(1)); break;                                   // BINGET
      case 'j': recall(number(4)); break;                                   // LONG_BINGET
      default: problem_ = "has an instruction that TorchScript does not write";
    }
    // clang-format on
    return true;
  }

  void skip(std::uint64_t count) {
    if (count > rest_.size()) {
      problem_ = "ends in the middle of a value";
      return;
    }
    rest_.remove_prefix(count);
  }
  std::uint64_t number(unsigned width) {
    std::uint64_t value = 0;
    if (width <= rest_.size()) {
      for (unsigned i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[i]);
    }
    skip(width);
    return value;
  }
  std::string_view piece(std::uint64_t count) {
    const std::string_view begin = rest_.substr(0, count);
    skip(count);
    return begin;
  }
  std::string_view line() {
    const std::string_view text = piece(std::min(rest_.find('\n'), rest_.size()));
    skip(1);
    return text;
  }
  void add_text(std::string_view text) {
    push(0);
    values_.back().text = text;
  }
  void text(std::uint64_t size) { add_text(piece(size)); }
  void integer(std::int64_t number) {
    push(0);
    values_.back().number = number;
  }
  // One of more than eight bytes is none that LibTorch takes for a size.
  void long_integer(std::uint64_t width) {
    if (width > 8) {
      skip(width);
      return push(0);
    }
    const std::uint64_t bits = number(static_cast<unsigned>(width));
    const auto unused = static_cast<unsigned>(64 - 8 * width);
    integer(unused == 64 ? 0 : static_cast<std::int64_t>(bits << unused) >> unused);  // keeps the sign
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
  std::size_t since_mark() {
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
  void remember(std::uint64_t key) {
    const Position top = pop();
    if (!problem_.empty()) return;
    if (key > memo_.size()) {
      problem_ = "numbers a value out of turn";
      return;
    }
    stack_.push_back(top);
    memo_[key] = top;
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      problem_ = "recalls a value it never had";
      return;
    }
    stack_.push_back(found->second);
  }

  std::string_view rest_;
  std::string_view problem_;
  std::vector<Value> values_;
  std::vector<Storage> storages_;
  std::vector<Position> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Position> memo_;
  std::uint32_t deepest_ = 0, deepest_tuple_ = 0;
};

}  // namespace sr::detail
