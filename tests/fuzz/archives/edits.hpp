// Edits of what archives consist of. Each makes one random change to its argument that keeps most of the
// structure, so that the damage reaches the code behind the first check.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/random.hpp"
#include "support/zip.hpp"

namespace sr::fuzz {

// Numbers at which sizes, counts and indices go wrong.
std::int64_t extreme_number(Random& random);

void edit_bytes(std::string& bytes, Random& random);
void edit_code(std::string& code, Random& random);                     // of TorchScript
void edit_json(std::string& json, Random& random);                     // damaged text stays as it is
void edit_pickle(std::string& pickle, Random& random);                 // instructions
void edit_records(std::vector<test::Entry>& records, Random& random);  // names, order, contents
void edit_zip(std::string& archive, Random& random);                   // headers and directory

// Edits a record, by its name.
void edit_record(test::Entry& record, Random& random);

}  // namespace sr::fuzz
