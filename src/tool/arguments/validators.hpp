// Checks the values of options, and makes the error messages for wrong ones.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include <sr/memory/planners.hpp>

namespace sr::tool {

inline std::string joined(const auto& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Accepts one of `names`, and says which there are.
inline CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names) {
  return {[what, names](const std::string& given) {
            if (std::ranges::find(names, given) != names.end()) return std::string();
            return "There is no " + what + " called '" + given + "'; there are " + joined(names) + ".";
          },
          ""};
}

// Also infinity, which CLI::PositiveNumber refuses.
inline CLI::Validator positive() {
  return {[](const std::string& given) {
            double value = 0;
            const bool is_positive = CLI::detail::lexical_cast(given, value) && value > 0;
            return is_positive ? std::string() : "'" + given + "' is not a positive number.";
          },
          "POSITIVE"};
}

inline CLI::Validator planner_name() {
  const auto& names = memory::planner_names();
  return one_of("planner", {names.begin(), names.end()});
}

inline std::string planner_help() {
  return "Memory planner: " + joined(memory::planner_names());
}

inline void add_planner(CLI::App& app, std::string& planner) {
  app.add_option("--planner", planner, planner_help())->check(planner_name())->capture_default_str();
}

}  // namespace sr::tool
