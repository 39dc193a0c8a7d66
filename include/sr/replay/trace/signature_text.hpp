// The text of a signature, for reports.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include <sr/replay/trace/signature.hpp>

namespace sr::replay {

namespace detail {

// Appends the text of one argument. `number(at)` returns the text of the integer or size at this word.
template <class Number>
void write_text(const std::int64_t*& at, const Number& number, std::string& text) {
  const std::int64_t first = *at++;
  const auto tag = static_cast<Tag>(first & 0xFF);
  const std::int64_t kind = first >> 8 & 0xFFFF;
  const std::int64_t count = first >> kCountAt;
  const auto sequence = [&](const char* open, const char* close, std::int64_t elements) {
    text += open;
    for (std::int64_t i = 0; i < elements; ++i) {
      if (i != 0) text += ", ";
      write_text(at, number, text);
    }
    text += close;
  };
  switch (tag) {
    case Tag::tensor:
      text += c10::toString(static_cast<c10::ScalarType>(kind & 127));
      text += '[';
      for (std::int64_t d = 0; d < at[1]; ++d) text += (d == 0 ? "" : ", ") + number(at + 2 + d);
      text += ']';
      at += 2 + 2 * at[1];
      break;
    case Tag::integer:
      text += number(at++);
      break;
    case Tag::real:
      text += std::to_string(std::bit_cast<double>(*at++));
      break;
    case Tag::boolean:
      text += kind != 0 ? "True" : "False";
      break;
    case Tag::none:
      text += "None";
      break;
    case Tag::string:
      text += "a string";
      at += (count + 7) / 8;
      break;
    case Tag::device:
      text += "a device";
      break;
    case Tag::list:
      sequence("[", "]", count);
      break;
    case Tag::tuple:
      sequence("(", ")", count);
      break;
    case Tag::dict:
      sequence("{", "}", 2 * count);
      break;
  }
}

}  // namespace detail

// "Float[8, 50], 3, [Float[2]]", for reports. `number(i)` is the text of word i, an integer or a size.
template <class Number>
std::string text_of(const SignatureWords& words, const Number& number) {
  const auto at_word = [&](const std::int64_t* word) {
    return number(static_cast<std::size_t>(word - words.data()));
  };
  std::string text;
  const std::int64_t* at = words.data() + 2;
  for (std::int64_t i = 0; i < detail::argument_count(words); ++i) {
    if (i != 0) text += ", ";
    detail::write_text(at, at_word, text);
  }
  return text;
}
inline std::string text_of(const SignatureWords& words) {
  return text_of(words, [&](std::size_t i) { return std::to_string(words[i]); });
}

}  // namespace sr::replay
