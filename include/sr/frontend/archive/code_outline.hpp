// The form of the code in an archive. LibTorch parses and compiles it by recursion, so that a crafted file
// could exhaust the stack. The time of its alias analysis doubles with each level of nested tuple types. It
// takes for granted that the names of an enumeration have values, and that brackets behind a value or a type
// are not empty.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sr::detail {

// A bound of the depth of the syntax tree of TorchScript's code: open brackets, the indentation of a line,
// the words and operators between two commas, and branches of `elif`, which may all be nested in each other.
class CodeOutline {
 public:
  explicit CodeOutline(std::string_view code) : code_(code) {
    for (at_ = 0; at_ < code_.size(); ++at_) {
      if (begins_line_ && !indent()) continue;
      read();
    }
  }

  std::size_t depth() const { return deepest_ + elifs_; }

  // The largest number of `Tuple[...]` types that are nested directly in each other.
  std::size_t tuple_depth() const { return deepest_tuple_; }

  // True if each line of each enumeration is `NAME = value`.
  bool enumerations_have_values() const { return enumerations_have_values_; }

  // True if brackets behind a name, a bracket or a string are empty, as in `Optional[]`.
  bool has_empty_subscript() const { return has_empty_subscript_; }

 private:
  static constexpr std::size_t kSpacesOfBlock = 2;

  char now() const { return code_[at_]; }
  bool follows(std::string_view text) const { return code_.substr(at_, text.size()) == text; }
  static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  // Counts the spaces before the code of a line; returns whether there is code.
  bool indent() {
    if (now() == ' ') ++spaces_;
    if (now() == '\n') spaces_ = 0;
    if (now() == ' ' || now() == '\n') return false;
    begins_line_ = false;
    if (brackets_.size() != 1) return true;
    depth_ = spaces_ / kSpacesOfBlock;
    in_enumeration_ = in_enumeration_ && spaces_ > 0;
    if (in_enumeration_ && !assigns()) enumerations_have_values_ = false;
    return true;
  }

  void read() {
    if (is_of_word(now())) return read_word();
    if (now() == '[' && behind_value_ && without_space(code_.substr(at_ + 1)).starts_with(']'))
      has_empty_subscript_ = true;
    const bool is_space = now() == ' ' || now() == '\\' || (now() == '\n' && brackets_.size() > 1);
    if (!is_space) behind_value_ = std::string_view(")]}'\"").find(now()) != std::string_view::npos;
    switch (now()) {
      case '(':
      case '[':
      case '{':
        return open_bracket();
      case ')':
      case ']':
      case '}':
        forget_operators();
        if (brackets_.size() == 1) return;
        brackets_.pop_back();
        --depth_;
        return;
      case ',':
        return forget_operators();
      case '\'':
      case '"':
        return skip_string();
      case '#':
        at_ = std::min(code_.find('\n', at_), code_.size()) - 1;
        return;
      case '\\':  // continues the line
        at_ += 1;
        return;
      case '\n':
        spaces_ = 0;
        begins_line_ = true;
        if (brackets_.size() == 1) brackets_.back().operators = 0;
        return;
      case ' ':
        return;
      default:
        ++brackets_.back().operators;
        deepen();
    }
  }

  void read_word() {
    const std::size_t begin = at_;
    while (at_ + 1 < code_.size() && is_of_word(code_[at_ + 1])) ++at_;
    const std::string_view word = code_.substr(begin, at_ + 1 - begin);
    if (word == "elif") ++elifs_;
    behind_tuple_ = word == "Tuple";
    // Behind these a list begins.
    static constexpr std::array<std::string_view, 12> kWords{
        "return", "in", "not", "and", "or", "if", "else", "elif", "is", "assert", "lambda", "while"};
    behind_value_ = std::ranges::find(kWords, word) == kWords.end();
    if (word == "class") in_enumeration_ = derives_from_enum(code_.substr(at_ + 1));
    ++brackets_.back().operators;
    deepen();
  }

  static std::string_view without_space(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \\\n"), text.size()));
  }
  static std::string_view without_word(std::string_view text) {
    const auto end = std::ranges::find_if_not(text, is_of_word);
    return without_space(text.substr(static_cast<std::size_t>(end - text.begin())));
  }
  // True if the text after the word `class` is NAME(Enum).
  static bool derives_from_enum(std::string_view rest) {
    rest = without_word(without_space(rest));
    if (!rest.starts_with('(')) return false;
    rest = without_space(rest.substr(1));
    return rest.starts_with("Enum") && without_word(rest).starts_with(')');
  }
  bool assigns() const {
    const std::string_view rest = without_word(code_.substr(at_));
    return rest.starts_with("= ");
  }

  void skip_string() {
    const char quote = now();
    const std::string three(3, quote);
    if (follows(three)) {
      at_ = std::min(code_.find(three, at_ + 3), code_.size() - 3) + 2;
      return;
    }
    while (++at_ < code_.size() && now() != quote && now() != '\n') at_ += now() == '\\' ? 1 : 0;
  }

  void deepen() { deepest_ = std::max(deepest_, ++depth_); }
  void open_bracket() {
    const std::size_t tuples = behind_tuple_ ? brackets_.back().tuples + 1 : 0;
    behind_tuple_ = false;
    deepest_tuple_ = std::max(deepest_tuple_, tuples);
    brackets_.push_back({.tuples = tuples});
    deepen();
  }
  void forget_operators() {
    depth_ -= brackets_.back().operators;
    brackets_.back().operators = 0;
  }

  std::string_view code_;
  std::size_t at_ = 0;
  struct Bracket {
    std::size_t operators = 0;  // words and operators since its last comma
    std::size_t tuples = 0;     // of `Tuple[`: how many such brackets are nested up to here
  };
  std::vector<Bracket> brackets_{{}};  // the open brackets; the first element stands for the line itself
  std::size_t deepest_tuple_ = 0;
  std::size_t depth_ = 0, deepest_ = 0, spaces_ = 0, elifs_ = 0;
  bool begins_line_ = true, in_enumeration_ = false, enumerations_have_values_ = true;
  bool behind_value_ = false, behind_tuple_ = false, has_empty_subscript_ = false;
};

}  // namespace sr::detail
