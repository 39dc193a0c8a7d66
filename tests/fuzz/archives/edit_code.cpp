#include <algorithm>
#include <cctype>

#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

namespace {

// Names and numbers, spaces, and all other characters one by one; put together they are the code.
std::vector<std::string> tokens_of(const std::string& code) {
  const auto kind = [](char c) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') return 1;
    return c == ' ' ? 2 : 0;
  };
  std::vector<std::string> tokens;
  for (const char c : code) {
    if (!tokens.empty() && kind(c) != 0 && kind(tokens.back().back()) == kind(c)) {
      tokens.back().push_back(c);
    } else {
      tokens.emplace_back(1, c);
    }
  }
  return tokens;
}

std::string nested(Random& random, std::size_t depth) {
  static constexpr const char* kShapes[][2] = {{"(", ")"}, {"[", "]"},   {"not ", ""},
                                               {"- ", ""}, {"", " + 1"}, {"", "[0]"},
                                               {"", ".x"}, {"f(", ")"},  {"x if ", " else y"}};
  const auto& shape = random.of(kShapes);
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += shape[0];
  text += "x";
  for (std::size_t i = 0; i < depth; ++i) text += shape[1];
  return text;
}

void edit_lines(std::string& code, Random& random) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size() - 1) + 1;
    lines.push_back(code.substr(at, end - at));
    at = end;
  }
  if (lines.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(random.below(lines.size()));
  std::string line = lines[static_cast<std::size_t>(at)];
  switch (random.below(4)) {
    case 0:
      lines.erase(lines.begin() + at);
      break;
    case 1:
      lines.insert(lines.begin() + at, line);
      break;
    case 2:
      lines[static_cast<std::size_t>(at)].insert(0, 2 * random.below(4), ' ');
      break;
    default:
      std::swap(lines[static_cast<std::size_t>(at)], lines[random.below(lines.size())]);
  }
  code.clear();
  for (const std::string& kept : lines) code += kept;
}

}  // namespace

void edit_code(std::string& code, Random& random) {
  if (random.chance(30)) return edit_lines(code, random);
  std::vector<std::string> tokens = tokens_of(code);
  if (tokens.empty()) return;
  std::string& token = random.of(tokens);
  switch (random.below(7)) {
    case 0:
      token.clear();
      break;
    case 1:
      token += token;
      break;
    case 2:
    case 3:
      token = random.of(tokens);
      break;
    case 4:
      token = std::to_string(extreme_number(random));
      break;
    case 5:
      token = nested(random, std::size_t{1} << random.below(12));
      break;
    default:
      std::swap(token, random.of(tokens));
  }
  code.clear();
  for (const std::string& kept : tokens) code += kept;
}

}  // namespace sr::fuzz
