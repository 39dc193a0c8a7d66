// The table of errors, and what is wrong in sentences.
#pragma once

#include <iosfwd>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "exhaustive/check.hpp"
#include "exhaustive/row.hpp"

namespace sr::exhaustive {

using Sets = std::vector<const kernels::Kernels*>;

void print_head(std::ostream& out, const Sets& sets);
// With the exceptions that are stated.
void print_row(std::ostream& out, const Row& row, const Verdict& verdict, bool ok);

// Whether the vector op is within what is stated; what is not goes to `errors`.
bool judge(std::ostream& errors, const Row& row, const Sets& sets, const Verdict& verdict);

}  // namespace sr::exhaustive
