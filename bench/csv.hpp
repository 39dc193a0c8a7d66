// Lifetimes as text, in the format of public collections of allocation problems: `id,lower,upper,size`, one
// tensor a line, alive in steps [lower, upper), size in bytes. It has no alignments and no hints for reuse.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <istream>
#include <limits>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sr/memory/request.hpp>

namespace sr::bench {

// The message begins with the file and line, as in "plans/a.csv:3: ...".
struct CsvError : std::runtime_error {
  CsvError(const std::string& name, std::size_t line, const std::string& what)
      : std::runtime_error(name + ":" + std::to_string(line) + ": " + what) {}
};

namespace csv_detail {

inline constexpr std::array<std::string_view, 4> kColumns{"id", "lower", "upper", "size"};

inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

inline std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace csv_detail

// Returns requests in the order of the lines, all with that alignment. `name` is the stream's name in
// messages. Blank lines and blanks around fields are ignored; other deviations from the format throw
// CsvError.
inline std::vector<memory::Request> read_requests(std::istream& in, const std::string& name,
                                                  memory::Bytes alignment = memory::kAlignment) {
  using csv_detail::kColumns;
  std::vector<memory::Request> requests;
  std::unordered_set<std::string> ids;
  std::string text;
  std::size_t line = 0;
  bool header = false;
  const auto fail = [&](const std::string& what) {
    throw CsvError(name, std::max<std::size_t>(line, 1), what);
  };
  const auto parse = [&](std::string_view field, std::size_t column, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    const std::string what = "'" + std::string(field) + "' in column " + std::string(kColumns[column]);
    if (error == std::errc::result_out_of_range || (error == std::errc() && value > most))
      fail(what + " is larger than " + std::to_string(most) + ".");
    if (error != std::errc() || end != field.data() + field.size())
      fail(what + " is not a whole number from 0.");
    return value;
  };
  while (std::getline(in, text)) {
    ++line;
    if (csv_detail::trimmed(text).empty()) continue;
    const auto fields = csv_detail::fields_of(text);
    if (!header) {
      if (!std::ranges::equal(fields, kColumns)) fail("the first line must be 'id,lower,upper,size'.");
      header = true;
      continue;
    }
    if (fields.size() != kColumns.size())
      fail("there are " + std::to_string(fields.size()) + " fields instead of 4.");
    if (fields[0].empty()) fail("the id is empty.");
    if (!ids.emplace(fields[0]).second) fail("the id '" + std::string(fields[0]) + "' was there before.");
    constexpr std::uint64_t last_step = std::numeric_limits<memory::StepIndex>::max();
    memory::Request& request = requests.emplace_back();
    request.alignment = alignment;
    request.first = static_cast<memory::StepIndex>(parse(fields[1], 1, last_step));
    request.end = static_cast<memory::StepIndex>(parse(fields[2], 2, last_step));
    // The sum of the sizes must not overflow.
    request.bytes = parse(fields[3], 3, std::uint64_t{1} << 40);
    if (request.first >= request.end) {
      fail("lower " + std::to_string(request.first) + " is not below upper " + std::to_string(request.end) +
           "; lifetimes are half-open.");
    }
  }
  if (in.bad()) fail("the file could not be read to its end.");
  if (!header) fail("there is no header line 'id,lower,upper,size'.");
  return requests;
}

inline void write_requests(std::ostream& out, std::span<const memory::Request> requests) {
  out << "id,lower,upper,size\n";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    out << i << ',' << requests[i].first << ',' << requests[i].end << ',' << requests[i].bytes << '\n';
  }
}

}  // namespace sr::bench
