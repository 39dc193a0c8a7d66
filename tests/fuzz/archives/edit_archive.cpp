#include <algorithm>
#include <string_view>

#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

namespace {

std::string other_name(const std::string& name, Random& random) {
  switch (random.below(6)) {
    case 0:
      return "";
    case 1:
      return "../" + name;
    case 2:
      return name.substr(name.find('/') + 1);
    case 3:
      return name + std::string(std::size_t{1} << random.below(14), 'x');
    default: {
      std::string other = name;
      edit_bytes(other, random);
      return other.substr(0, 65535);
    }
  }
}

}  // namespace

void edit_record(test::Entry& record, Random& random) {
  const auto ends = [&](std::string_view end) { return record.name.ends_with(end); };
  if (random.chance(10)) return edit_bytes(record.data, random);
  if (ends(".json")) return edit_json(record.data, random);
  if (ends("pkl")) return edit_pickle(record.data, random);
  if (ends(".py")) return edit_code(record.data, random);
  edit_bytes(record.data, random);
}

void edit_records(std::vector<test::Entry>& records, Random& random) {
  if (records.empty()) return;
  const std::size_t at = random.below(records.size());
  test::Entry& one = records[at];
  switch (random.below(6)) {
    case 0:
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      one.name = other_name(one.name, random);
      return;
    case 2: {
      test::Entry copy = one;
      copy.name = random.chance(50) ? copy.name : other_name(copy.name, random);
      records.push_back(copy);
      return;
    }
    case 3:
      std::swap(one, records[random.below(records.size())]);
      return;
    case 4:
      std::swap(one.data, records[random.below(records.size())].data);
      return;
    default:
      if (random.chance(50)) {
        one.data.append(std::size_t{1} << random.below(16), '\0');
      } else {
        one.data.clear();
      }
  }
}

void edit_zip(std::string& archive, Random& random) {
  if (archive.size() < 64) return edit_bytes(archive, random);
  // A header, an entry of the directory or its end; most of their fields have two or four bytes.
  static constexpr std::string_view kMarks[] = {"PK\3\4", "PK\1\2", "PK\5\6", "PK\6\6", "PK\6\7", "PK\7\10"};
  const std::size_t mark = archive.find(random.of(kMarks), random.below(archive.size()));
  if (mark == std::string::npos || random.chance(20)) return edit_bytes(archive, random);
  const std::size_t at = mark + 4 + 2 * random.below(24);
  const unsigned width = 2U << random.below(3);
  if (at + width > archive.size()) return;
  const auto now = static_cast<unsigned char>(archive[at]);
  const std::uint64_t near = now + random.below(5) - 2;
  test::put(archive, at, random.chance(50) ? near : static_cast<std::uint64_t>(extreme_number(random)),
            width);
}

}  // namespace sr::fuzz
