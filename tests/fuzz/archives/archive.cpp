#include "fuzz/archives/archive.hpp"

#include <sr/frontend/archive/archive_check.hpp>

namespace sr::fuzz {

std::vector<test::Entry> records_of(const std::string& archive) {
  std::vector<test::Entry> records;
  std::string inflated;
  for (const ZipRecord& record : check_zip(test::bytes_of(archive), "seed")) {
    records.push_back({std::string(record.name), std::string(sr::detail::bytes_of(record, inflated))});
  }
  return records;
}

std::string archive_of(std::vector<test::Entry> records) {
  for (test::Entry& record : records) record = {record.name, record.data};
  return test::zip(records);
}

}  // namespace sr::fuzz
