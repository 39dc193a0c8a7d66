// An archive as a list of records that can be edited and written again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/zip.hpp"

namespace sr::fuzz {

// The records of a valid archive, inflated.
std::vector<test::Entry> records_of(const std::string& archive);

// The archive of the records, stored, with checksums and sizes that fit them.
std::string archive_of(std::vector<test::Entry> records);

}  // namespace sr::fuzz
