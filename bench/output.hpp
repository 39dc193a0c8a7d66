// A table on a terminal, and the same numbers for programs.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sr::bench {

inline std::string number(double value, int digits = 0) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

using Row = std::vector<std::string>;

// The first column to the left, numbers to the right.
inline void print_table(std::ostream& out, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (i == 0 ? "" : "  ") << (i == 0 ? std::left : std::right)
          << std::setw(static_cast<int>(widths[i])) << row[i];
    }
    out << '\n';
  }
  out << std::flush;
}

// Throws std::runtime_error if the file can not be written.
inline void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(path);
  write(out);
  out.close();
  if (!out) throw std::runtime_error("The file '" + path + "' can not be written.");
}

}  // namespace sr::bench
