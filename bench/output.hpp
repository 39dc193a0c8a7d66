// A table on a terminal, and the same numbers as JSON.
#pragma once

#include <fstream>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "drawing/text_table.hpp"

namespace sr::bench {

using tool::number;
using Row = std::vector<std::string>;

// The first column is left-aligned, numbers are right-aligned.
inline void print_table(std::ostream& out, const std::vector<Row>& rows) {
  tool::print_rows(out, rows, 1);
  out << std::flush;
}

// Throws std::runtime_error if the file cannot be written.
inline void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(path);
  write(out);
  out.close();
  if (!out) throw std::runtime_error("The file '" + path + "' cannot be written.");
}

}  // namespace sr::bench
