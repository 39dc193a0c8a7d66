// String ops of the language. As in LibTorch, strings are bytes, and errors have Python's messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/runtime/slice_indices_adjust.h>

#include <sr/registry/op.hpp>

namespace sr::ops {

template <class Comparison>
struct OfStrings {
  bool operator()(std::string_view a, std::string_view b) const { return Comparison{}(a, b); }
};

struct JoinStrings {
  std::string operator()(std::string_view a, std::string_view b) const { return std::string(a).append(b); }
};
struct LengthOfString {
  std::int64_t operator()(std::string_view text) const { return static_cast<std::int64_t>(text.size()); }
};

struct CharacterAt {
  std::string operator()(std::string_view text, std::int64_t index) const {
    const auto size = static_cast<std::int64_t>(text.size());
    const std::string whole(text);  // whose complaint about the index is the interpreter's
    return {whole.at(static_cast<std::size_t>(index < 0 ? index + size : index))};
  }
};

struct Characters {
  c10::List<std::string> operator()(std::string_view text) const {
    c10::List<std::string> characters;
    characters.reserve(text.size());
    for (const char character : text) characters.push_back(std::string(1, character));
    return characters;
  }
};

// A missing bound is the largest integer, which the adjustment clamps.
inline std::int64_t bound_or_none(std::optional<std::int64_t> bound) {
  return bound.value_or(std::numeric_limits<std::int64_t>::max());
}

struct SliceOfString {
  std::string operator()(std::string_view text, std::optional<std::int64_t> start,
                         std::optional<std::int64_t> end, std::int64_t step) const {
    std::int64_t first = bound_or_none(start), last = bound_or_none(end);
    const std::int64_t count =
        torch::jit::slice_indices_adjust(static_cast<std::int64_t>(text.size()), &first, &last, step);
    std::string result;
    for (std::int64_t i = 0; i < count; ++i) result += text[static_cast<std::size_t>(first + i * step)];
    return result;
  }
};

struct SplitString {
  c10::List<std::string> operator()(std::string_view text, std::optional<std::string_view> separator,
                                    std::int64_t most) const {
    c10::List<std::string> parts;
    if (!separator) {
      split_at_blanks(text, parts);
      return parts;
    }
    if (separator->empty()) throw std::runtime_error("ValueError: empty separator");
    std::int64_t count = 0;
    for (std::size_t end = text.find(*separator); end != std::string_view::npos && (most < 0 || count < most);
         end = text.find(*separator), ++count) {
      parts.push_back(std::string(text.substr(0, end)));
      text.remove_prefix(end + separator->size());
    }
    parts.push_back(std::string(text));
    return parts;
  }

 private:
  // Also splits at single bytes of multi-byte blanks, as LibTorch does.
  static void split_at_blanks(std::string_view text, c10::List<std::string>& parts) {
    static constexpr std::string_view blanks = " \t\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(blanks), text.size());
      if (end != 0) parts.push_back(std::string(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
};

struct IndexInString {
  std::int64_t operator()(std::string_view text, std::string_view wanted, std::int64_t start,
                          std::int64_t end) const {
    const auto size = static_cast<std::int64_t>(text.size());
    if (start < 0) start = std::max<std::int64_t>(0, size + start);
    if (end < 0) end = std::max<std::int64_t>(0, size + end + 1);
    std::string part;
    if (end > start)
      part = std::string(text).substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start));
    const std::size_t found = part.find(wanted);
    if (found == std::string::npos) throw std::runtime_error("ValueError: substring not found");
    return static_cast<std::int64_t>(found) + start;
  }
};

// Replaces each "{}" by the next argument as it is printed. Ignores further arguments.
struct FormatString {
  void operator()(NodeView& node) const {
    const std::string_view format = node.input(0).toStringView();
    std::ostringstream text;
    std::size_t begin = 0, next = 1;
    for (std::size_t hole = format.find("{}"); hole != std::string_view::npos;
         hole = format.find("{}", begin), ++next) {
      TORCH_CHECK(next < node.input_count(), "Too few arguments for format string: ", format);
      text << format.substr(begin, hole - begin) << node.input(next);
      begin = hole + 2;
    }
    text << format.substr(begin);
    node.output(0) = text.str();
  }
};

struct ToString {
  std::string operator()(const c10::IValue& value) const {
    std::ostringstream text;
    text << value;
    return text.str();
  }
};

namespace registered {

inline const Native<"aten::eq.str(str a, str b) -> bool", OfStrings<std::equal_to<>>> eq_strings;
inline const Native<"aten::ne.str(str a, str b) -> bool", OfStrings<std::not_equal_to<>>> ne_strings;
inline const Native<"aten::lt.str(str a, str b) -> bool", OfStrings<std::less<>>> lt_strings;
inline const Native<"aten::le.str(str a, str b) -> bool", OfStrings<std::less_equal<>>> le_strings;
inline const Native<"aten::gt.str(str a, str b) -> bool", OfStrings<std::greater<>>> gt_strings;
inline const Native<"aten::ge.str(str a, str b) -> bool", OfStrings<std::greater_equal<>>> ge_strings;
inline const Native<"aten::add.str(str a, str b) -> str", JoinStrings> add_strings;
inline const Native<"aten::len.str(str s) -> int", LengthOfString> length_of_string;
inline const Native<"aten::__getitem__.str(str s, int index) -> str", CharacterAt> character_at;
inline const Native<"aten::list(str t) -> str[]", Characters> characters;
inline const Native<"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
                    SliceOfString>
    slice_of_string;
inline const Native<"aten::split.str(str self, str? separator=None, int max=-1) -> str[]", SplitString>
    split_string;
inline const Native<"aten::index.str(str self, str substr, int start=0, int end=-1) -> int", IndexInString>
    index_in_string;
inline const Native<"aten::str(t elem) -> str", ToString> to_string;
inline const NodeOp<"aten::format", FormatString> format_string;

}  // namespace registered
}  // namespace sr::ops
