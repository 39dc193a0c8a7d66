// Damaged archives, each determined by the seeds, a number and an index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/zip.hpp"

namespace sr::fuzz {

struct Seed {
  std::string name;   // of its file
  std::string bytes;  // of the archive
  std::vector<test::Entry> records;
};

// The archives in a folder, by name. Throws std::runtime_error if there are none.
std::vector<Seed> seeds_in(const std::string& folder);

struct Mutant {
  const Seed* seed;
  std::string bytes;
};

Mutant mutant_of(const std::vector<Seed>& seeds, std::uint64_t number, std::uint64_t index);

}  // namespace sr::fuzz
