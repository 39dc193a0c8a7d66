// Reads the records of a zip archive from untrusted bytes. Every field that decides what a reader sees is
// compared with its second copy or with the size of the file. Archives that two readers could interpret
// differently are rejected: several disks, encryption, gaps around the directory, overlapping records,
// duplicate names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/foreign_file.hpp>

namespace sr {

struct ZipRecord {
  std::string_view name;              // views the archive's bytes, like `stored`
  std::span<const std::byte> stored;  // as they are in the file
  std::uint64_t size = 0;             // once inflated
  std::uint32_t checksum = 0;         // CRC-32 of the inflated bytes, as declared
  bool deflated = false;
  std::uint64_t begin = 0, end = 0;  // extent in the file, header and trailing descriptor included
};

namespace detail {

class ZipDirectory {
 public:
  ZipDirectory(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::vector<ZipRecord> records() const {
    const Location directory = find_directory();
    std::vector<ZipRecord> found;
    found.reserve(directory.count);
    std::unordered_set<std::string> names;
    std::uint64_t position = directory.offset;
    const std::uint64_t end = directory.offset + directory.size;
    for (std::uint64_t i = 0; i < directory.count; ++i) {
      found.push_back(read_entry(position, end));
      if (!names.insert(lower_case(found.back().name)).second) {
        damaged("the name '" + printable(found.back().name) +
                "' occurs twice in its directory, perhaps in other case, which LibTorch does not tell apart");
      }
    }
    if (position != end) damaged("its directory is longer than its entries");
    check_extents(found, directory.offset);
    return found;
  }

 private:
  struct Location {
    std::uint64_t offset, size, count;
  };
  struct Sizes {  // the three fields that move to the zip64 extra field when 32 bits do not hold them
    std::uint64_t size, stored, begin;
  };

  static constexpr std::uint32_t full = 0xFFFFFFFF;  // "see the zip64 field"
  static constexpr std::uint64_t local_size = 30, entry_size = 46, end_size = 22, end64_size = 56,
                                 locator_size = 20;
  static constexpr unsigned has_descriptor = 1U << 3;
  static constexpr unsigned allowed_flags =
      has_descriptor | 1U << 1 | 1U << 2 | 1U << 11;  // deflate level, UTF-8

  [[noreturn]] void damaged(const std::string& what) const {
    throw LoadError("The file '" + file_ + "' is damaged: " + what + "; copy, download or save it again.");
  }

  static std::string printable(std::string_view name) {
    std::string text(name.substr(0, 120));
    for (char& c : text) c = (c < ' ' || c > '~') ? '?' : c;
    return text;
  }

  static std::string lower_case(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  }

  bool holds(std::uint64_t offset, std::uint64_t count) const {
    return count <= bytes_.size() && offset <= bytes_.size() - count;
  }

  std::uint64_t number(std::uint64_t offset, unsigned width) const {
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[offset + i]);
    return value;
  }
  unsigned u16(std::uint64_t offset) const { return static_cast<unsigned>(number(offset, 2)); }
  std::uint32_t u32(std::uint64_t offset) const { return static_cast<std::uint32_t>(number(offset, 4)); }
  std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }

  std::string_view text(std::uint64_t offset, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, count};
  }
  bool marked(std::uint64_t offset, std::string_view signature) const {
    return holds(offset, signature.size()) && text(offset, signature.size()) == signature;
  }

  Location find_directory() const {
    if (bytes_.empty()) throw LoadError("The file '" + file_ + "' is empty.");
    if (!marked(0, "PK\3\4") && !marked(0, "PK\5\6")) {
      throw LoadError("The file '" + file_ +
                      "' is not a zip archive, which is what PyTorch writes; it looks like " +
                      describe_foreign(bytes_) + ".");
    }
    const std::uint64_t end = find_end();
    if (end + end_size + u16(end + 20) != bytes_.size()) {
      damaged("its end record says that " + std::to_string(u16(end + 20)) +
              " bytes of comment follow, but it is " + std::to_string(bytes_.size() - end - end_size));
    }
    Location found{u32(end + 16), u32(end + 12), u16(end + 10)};
    std::uint64_t limit = end;
    bool one_disk = u16(end + 4) == 0 && u16(end + 6) == 0 && u16(end + 8) == u16(end + 10);
    if (end >= locator_size && marked(end - locator_size, "PK\6\7")) {
      const std::uint64_t locator = end - locator_size;
      limit = u64(locator + 8);
      if (locator < end64_size || limit != locator - end64_size || !marked(limit, "PK\6\6") ||
          u64(limit + 4) != end64_size - 12) {
        damaged("its zip64 end record is not where its locator says");
      }
      const Location wide{u64(limit + 48), u64(limit + 40), u64(limit + 32)};
      if ((found.offset != full && found.offset != wide.offset) ||
          (found.size != full && found.size != wide.size) ||
          (found.count != 0xFFFF && found.count != wide.count)) {
        damaged("its two end records contradict each other");
      }
      one_disk = one_disk && u32(locator + 4) == 0 && u32(locator + 16) == 1 && u32(limit + 16) == 0 &&
                 u32(limit + 20) == 0 && u64(limit + 24) == wide.count;
      found = wide;
    }
    if (!one_disk) damaged("it claims to be one of several disks of an archive");
    if (!holds(found.offset, found.size) || found.offset + found.size != limit) {
      damaged("its directory of " + std::to_string(found.size) + " bytes at " + std::to_string(found.offset) +
              " does not end where the end record begins, at " + std::to_string(limit));
    }
    if (found.count > found.size / entry_size)
      damaged("its directory is too short for its number of records");
    return found;
  }

  std::uint64_t find_end() const {
    constexpr std::uint64_t reach = end_size + 0xFFFF;  // the longest comment
    const std::uint64_t lowest = bytes_.size() > reach ? bytes_.size() - reach : 0;
    for (std::uint64_t at = bytes_.size() + 1; at-- > lowest;) {
      if (holds(at, end_size) && marked(at, "PK\5\6")) return at;
    }
    throw LoadError("The file '" + file_ + "' is cut short: it has " + std::to_string(bytes_.size()) +
                    " bytes and no zip directory at its end; copy, download or save it again.");
  }

  // Reads one entry of the directory and the header that it points to. Advances `position` behind the entry.
  ZipRecord read_entry(std::uint64_t& position, std::uint64_t end) const {
    if (end - position < entry_size || !marked(position, "PK\1\2")) {
      damaged("its directory has no entry at " + std::to_string(position));
    }
    const std::uint64_t at = position;
    const std::uint64_t name_size = u16(at + 28), extra_size = u16(at + 30), comment_size = u16(at + 32);
    if (end - at - entry_size < name_size + extra_size + comment_size) {
      damaged("the directory's entry at " + std::to_string(at) + " is longer than the directory");
    }
    position = at + entry_size + name_size + extra_size + comment_size;
    ZipRecord record;
    record.name = text(at + entry_size, name_size);
    if (name_size == 0 || record.name.find('\0') != std::string_view::npos) {
      damaged("the directory's entry at " + std::to_string(at) + " has no proper name");
    }
    if (u16(at + 34) != 0) spoiled(record, "claims to be on another disk");
    if ((u16(at + 8) & 1U) != 0) spoiled(record, "is encrypted or its flags are broken");
    if ((u16(at + 8) & ~allowed_flags) != 0) spoiled(record, "has flags that no TorchScript archive has");
    if (const unsigned method = u16(at + 10); method != 0 && method != 8) {
      spoiled(record, "is compressed by method " + std::to_string(method) +
                          ", but only 0 (stored) and 8 (deflate) are read");
    }
    record.deflated = u16(at + 10) == 8;
    record.checksum = u32(at + 16);
    const Sizes sizes =
        widen(record, {u32(at + 24), u32(at + 20), u32(at + 42)}, at + entry_size + name_size, extra_size);
    record.size = sizes.size;
    record.begin = sizes.begin;
    if (!record.deflated && sizes.size != sizes.stored)
      spoiled(record, "has two different sizes though it is not compressed");
    const bool folder =
        record.name.ends_with('/') || record.name.ends_with('\\') || (u32(at + 38) & 0x10U) != 0;
    if (folder && sizes.size != 0) spoiled(record, "is a folder that has contents");
    read_header(record, at, sizes.stored);
    return record;
  }

  void read_header(ZipRecord& record, std::uint64_t entry, std::uint64_t stored) const {
    const std::uint64_t at = record.begin;
    if (!holds(at, local_size) || !marked(at, "PK\3\4")) {
      spoiled(record, "has no header at " + std::to_string(at) + ", where the directory points");
    }
    const std::uint64_t name_size = u16(at + 26), extra_size = u16(at + 28);
    const std::uint64_t data = at + local_size + name_size + extra_size;
    if (!holds(data, stored)) {
      spoiled(record, "should have " + std::to_string(stored) + " bytes, which is more than the file holds");
    }
    if (text(at + local_size, name_size) != record.name) spoiled(record, "has another name in its header");
    const bool descriptor = (u16(at + 6) & has_descriptor) != 0;
    if (u16(at + 6) != u16(entry + 8) || u16(at + 8) != u16(entry + 10)) {
      spoiled(record, "has other flags in its header than in the directory");
    }
    const auto agrees = [&](std::uint64_t value, std::uint64_t expected, bool wide) {
      return value == expected || (descriptor && value == 0) || (wide && value == full && extra_size >= 20);
    };
    if (!agrees(u32(at + 14), record.checksum, false) || !agrees(u32(at + 18), stored, true) ||
        !agrees(u32(at + 22), record.size, true)) {
      spoiled(record, "has another size or checksum in its header than in the directory");
    }
    record.stored = bytes_.subspan(data, stored);
    record.end = data + stored + (descriptor ? descriptor_size(record, data + stored) : 0);
  }

  // Compares the data descriptor, which repeats sizes and checksum behind the data: with or without a
  // signature, in 32 or 64 bits.
  std::uint64_t descriptor_size(const ZipRecord& record, std::uint64_t at) const {
    for (const unsigned signature : {4U, 0U}) {
      if (signature != 0 && !marked(at, "PK\7\10")) continue;
      for (const unsigned width : {4U, 8U}) {
        const std::uint64_t first = at + signature + 4, size = signature + 4 + 2 * width;
        if (holds(at, size) && u32(at + signature) == record.checksum &&
            number(first, width) == record.stored.size() && number(first + width, width) == record.size) {
          return size;
        }
      }
    }
    spoiled(record, "is followed by another size or checksum than the directory has");
  }

  // Replaces saturated fields by those of the zip64 extra field.
  Sizes widen(const ZipRecord& record, Sizes sizes, std::uint64_t extra, std::uint64_t extra_size) const {
    const std::uint64_t end = extra + extra_size;
    bool widened = false;
    while (end - extra >= 4) {
      const std::uint64_t field_end = extra + 4 + u16(extra + 2);
      if (field_end > end) spoiled(record, "has an extra field that is longer than its entry");
      if (u16(extra) == 1 && !widened) {
        std::uint64_t at = extra + 4;
        for (std::uint64_t* value : {&sizes.size, &sizes.stored, &sizes.begin}) {
          if (*value != full) continue;
          if (field_end - at < 8) spoiled(record, "has a zip64 field that is too short");
          *value = u64(at);
          at += 8;
        }
        widened = true;
      }
      extra = field_end;
    }
    if (extra != end) spoiled(record, "has an extra field that is cut short");
    return sizes;
  }

  void check_extents(const std::vector<ZipRecord>& records, std::uint64_t directory) const {
    std::vector<const ZipRecord*> order;
    order.reserve(records.size());
    for (const ZipRecord& record : records) order.push_back(&record);
    std::ranges::sort(order, {}, &ZipRecord::begin);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool last = i + 1 == order.size();
      if (order[i]->end <= (last ? directory : order[i + 1]->begin)) continue;
      spoiled(*order[i], last ? "reaches into the directory"
                              : "overlaps the record '" + printable(order[i + 1]->name) + "'");
    }
  }

  [[noreturn]] void spoiled(const ZipRecord& record, const std::string& what) const {
    damaged("its record '" + printable(record.name) + "' " + what);
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
};

}  // namespace detail

// `file` is the name in errors. The records, in the order of the directory, refer to `bytes`.
inline std::vector<ZipRecord> read_zip_directory(std::span<const std::byte> bytes, const std::string& file) {
  return detail::ZipDirectory(bytes, file).records();
}

}  // namespace sr
