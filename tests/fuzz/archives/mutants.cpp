#include "fuzz/archives/mutants.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <sr/frontend/archive/archive_bytes.hpp>

#include "fuzz/archives/archive.hpp"
#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

namespace {

// A weight that torch.export.save has pickled is an archive of torch.save in a record.
bool is_archive(const test::Entry& record) {
  return record.data.starts_with("PK\x03\x04");
}

// Records with .debug_pkl are not read.
bool has_structure(const test::Entry& record) {
  return record.name.ends_with(".pkl") || record.name.ends_with(".py") || record.name.ends_with(".json") ||
         is_archive(record);
}

std::string with_edited_records(std::vector<test::Entry> records, Random& random);

// Returns false if an earlier edit has damaged the archive.
bool edit_inside(test::Entry& record, Random& random) {
  std::vector<test::Entry> records;
  try {
    records = records_of(record.data);
  } catch (const std::exception&) {
    return false;
  }
  record.data = with_edited_records(std::move(records), random);
  return true;
}

std::string with_edited_records(std::vector<test::Entry> records, Random& random) {
  const std::size_t edits = random.chance(10) ? 4 + random.below(16) : 1 + random.below(3);
  for (std::size_t i = 0; i < edits && !records.empty(); ++i) {
    if (random.chance(10)) {
      edit_records(records, random);
      continue;
    }
    test::Entry* record = &records[random.below(records.size())];
    // Most records hold the elements of a tensor or a version number. Damage there reaches little code.
    for (int again = 0; again < 3 && !has_structure(*record); ++again)
      record = &records[random.below(records.size())];
    if (!is_archive(*record) || random.chance(10) || !edit_inside(*record, random))
      edit_record(*record, random);
  }
  return archive_of(std::move(records));
}

}  // namespace

std::vector<Seed> seeds_in(const std::string& folder) {
  std::vector<Seed> seeds;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    Seed seed{file.path().filename(), sr::detail::read_file(file.path()), {}};
    seed.records = records_of(seed.bytes);
    seeds.push_back(std::move(seed));
  }
  if (seeds.empty()) throw std::runtime_error("there are no archives in " + folder);
  std::ranges::sort(seeds, {}, &Seed::name);
  return seeds;
}

Mutant mutant_of(const std::vector<Seed>& seeds, std::uint64_t number, std::uint64_t index) {
  Random random(number, index);
  const Seed& seed = random.of(seeds);
  if (random.chance(10)) {
    std::string bytes = seed.bytes;
    for (std::size_t edits = 1 + random.below(3); edits-- > 0;) edit_zip(bytes, random);
    return {&seed, std::move(bytes)};
  }
  std::string bytes = with_edited_records(seed.records, random);
  if (random.chance(3)) edit_zip(bytes, random);
  return {&seed, std::move(bytes)};
}

}  // namespace sr::fuzz
