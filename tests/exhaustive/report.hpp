// The table of errors, and a sentence for each violated bound.
#pragma once

#include <iosfwd>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "exhaustive/check.hpp"
#include "exhaustive/row.hpp"

namespace sr::exhaustive {

using Sets = std::vector<const kernels::Kernels*>;

void print_head(std::ostream& out, const Sets& sets);
// Includes the stated exceptions.
void print_row(std::ostream& out, const Row& row, const Verdict& verdict, bool ok);

// True if the vector op is within its stated bounds; appends a sentence to `errors` for each violation.
bool judge(std::ostream& errors, const Row& row, const Sets& sets, const Verdict& verdict);

}  // namespace sr::exhaustive
