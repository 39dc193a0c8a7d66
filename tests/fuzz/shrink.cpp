#include "fuzz/shrink.hpp"

#include <algorithm>
#include <cctype>

namespace sr::fuzz {

namespace {

std::size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The line after the statement that starts at `first`; an `else:` belongs to its `if`.
std::size_t end_of(const std::vector<std::string>& body, std::size_t first) {
  const std::size_t depth = indentation(body[first]);
  std::size_t end = first + 1;
  while (end < body.size() &&
         (indentation(body[end]) > depth || body[end].compare(depth, std::string::npos, "else:") == 0)) {
    ++end;
  }
  return end;
}

bool mentions(const std::string& line, const std::string& name) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !word(line[at - 1])) && (end == line.size() || !word(line[end]))) return true;
  }
  return false;
}

// The names that a line defines: "v1, v2 = ...".
std::vector<std::string> defined(const std::string& line) {
  std::vector<std::string> names;
  std::string name;
  for (std::size_t i = indentation(line); i < line.size(); ++i) {
    const char c = line[i];
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
    } else if (c == ',' || (c == ' ' && i + 1 < line.size() && line[i + 1] == '=')) {
      names.push_back(name);
      name.clear();
      if (c == ' ') return i + 2 < line.size() && line[i + 2] == ' ' ? names : std::vector<std::string>{};
    } else if (c != ' ') {
      break;
    }
  }
  return {};
}

// The program without a statement and everything that needs what it defines. Shrinking may stop early,
// because a body that does not compile counts as one that does not fail.
Case without(Case program, std::size_t first) {
  std::vector<std::string> gone;
  const auto erase = [&](std::size_t begin) {
    const std::size_t end = end_of(program.body, begin);
    for (std::size_t i = begin; i < end; ++i) {
      for (const std::string& name : defined(program.body[i])) gone.push_back(name);
    }
    program.body.erase(program.body.begin() + static_cast<std::ptrdiff_t>(begin),
                       program.body.begin() + static_cast<std::ptrdiff_t>(end));
  };
  erase(first);
  const auto needs = [&](const std::string& line) {
    return std::any_of(gone.begin(), gone.end(),
                       [&](const std::string& name) { return mentions(line, name); });
  };
  for (std::size_t i = first; i < program.body.size();) {
    if (needs(program.body[i]))
      erase(i);
    else
      ++i;
  }
  std::erase_if(program.results, needs);
  return program;
}

// Replaces a branch or loop by the contents of its first block.
Case unwrapped(Case program, std::size_t first) {
  const std::size_t depth = indentation(program.body[first]), end = end_of(program.body, first);
  std::vector<std::string> inner;
  for (std::size_t i = first + 1; i < end && indentation(program.body[i]) > depth; ++i)
    inner.push_back(program.body[i].substr(4));
  const auto begin = program.body.begin();
  program.body.erase(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end));
  program.body.insert(program.body.begin() + static_cast<std::ptrdiff_t>(first), inner.begin(), inner.end());
  return program;
}

bool mentioned(const Case& program, const std::string& name) {
  const auto in = [&](const std::string& line) { return mentions(line, name); };
  return std::any_of(program.body.begin(), program.body.end(), in) ||
         std::any_of(program.results.begin(), program.results.end(), in);
}

}  // namespace

Case shrink(Case program, const std::function<bool(const Case&)>& fails, int tries) {
  bool smaller = true;
  const auto accept = [&](const Case& candidate) {
    if (candidate.results.empty() || candidate.runs.empty() || tries-- <= 0 || !fails(candidate))
      return false;
    program = candidate;
    return smaller = true;
  };
  const auto drop = [&](auto Case::*list, std::size_t i) {
    Case candidate = program;
    (candidate.*list).erase((candidate.*list).begin() + static_cast<std::ptrdiff_t>(i));
    return accept(candidate);
  };
  while (smaller && tries > 0) {
    smaller = false;
    for (std::size_t i = program.results.size(); i-- > 0;) {
      if (program.results.size() > 1) drop(&Case::results, i);
    }
    for (std::size_t i = program.body.size(); i-- > 0;) {
      if (i >= program.body.size()) continue;
      if (accept(without(program, i))) continue;
      if (program.body[i].back() == ':' && end_of(program.body, i) > i + 1) accept(unwrapped(program, i));
    }
    for (std::size_t i = program.runs.size(); i-- > 0;) {
      if (program.runs.size() > 1) drop(&Case::runs, i);
    }
    for (std::size_t i = 0; i < program.runs.size(); ++i) {
      if (program.runs[i].setting == Setting::none) continue;
      Case candidate = program;
      candidate.runs[i].setting = Setting::none;
      accept(candidate);
    }
    for (std::size_t i = program.attributes.size(); i-- > 0;) {
      if (!mentioned(program, program.attributes[i].name)) drop(&Case::attributes, i);
    }
    for (std::size_t i = program.parameters.size(); i-- > 0;) {
      if (!mentioned(program, program.parameters[i].name)) drop(&Case::parameters, i);
    }
  }
  return program;
}

}  // namespace sr::fuzz
