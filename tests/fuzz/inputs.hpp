// The argument values of a run: they differ between runs, and are the same for the same program.
#pragma once

#include "fuzz/program.hpp"
#include "support/oracle.hpp"

namespace sr::fuzz {

test::InputSet make_inputs(const Case& program, std::size_t run);
std::vector<std::pair<std::string, c10::IValue>> make_attributes(const Case& program);
// The values that run `run` gives to an attribute.
at::Tensor make_weight(const Case& program, std::size_t attribute, std::size_t run);

}  // namespace sr::fuzz
