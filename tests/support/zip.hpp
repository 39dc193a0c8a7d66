// Writes zip archives byte by byte, to be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sr/frontend/archive/crc32.hpp>

namespace sr::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline void put(std::string& archive, std::size_t at, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) archive[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

inline std::uint32_t checksum(const std::string& text) {
  return sr::crc32(bytes_of(text));
}

struct Entry {
  std::string name;
  std::string data;
  std::uint64_t size = data.size();    // declared
  std::uint64_t stored = data.size();  // declared
  unsigned method = 0;
  std::uint32_t crc = checksum(data);
};

// Without zip64 records and descriptors, as other tools write them.
inline std::string zip(const std::vector<Entry>& entries) {
  std::string body, directory;
  for (const Entry& entry : entries) {
    std::string fields(22, '\0');
    put(fields, 4, entry.method, 2);
    put(fields, 10, entry.crc, 4);
    put(fields, 14, entry.stored, 4);
    put(fields, 18, entry.size, 4);
    std::string lengths(4, '\0');
    put(lengths, 0, entry.name.size(), 2);
    std::string tail(14, '\0');
    put(tail, 10, body.size(), 4);
    // One by one: g++ 12 warns wrongly about sums of strings.
    directory.append("PK\1\2\0\0", 6).append(fields).append(lengths, 0, 2).append(2, '\0').append(tail);
    directory.append(entry.name);
    body.append("PK\3\4").append(fields).append(lengths).append(entry.name).append(entry.data);
  }
  std::string end = "PK\5\6" + std::string(18, '\0');
  put(end, 8, entries.size(), 2);
  put(end, 10, entries.size(), 2);
  put(end, 12, directory.size(), 4);
  put(end, 16, body.size(), 4);
  return body + directory + end;
}

}  // namespace sr::test
