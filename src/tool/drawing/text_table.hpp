// Figures in columns, as the tool's tables have them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace sr::tool {

inline std::string number(double value, int digits = 0) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

// Columns as wide as their widest entry; the first `names` of them are words and begin at the left.
inline void print_rows(std::ostream& out, const std::vector<std::vector<std::string>>& rows,
                       std::size_t names) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (i == 0 ? "" : "  ") << (i < names ? std::left : std::right)
          << std::setw(static_cast<int>(widths[i])) << row[i];
    }
    out << '\n';
  }
}

}  // namespace sr::tool
