// What one call did, and how two calls are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/oracle.hpp"
#include "support/outcome.hpp"
#include "support/values.hpp"

namespace sr::fuzz {

struct Outcome : test::Outcome {
  test::InputSet weights = {};  // that a result may share memory with
  std::string warning = {};     // the last one that was printed
};

Outcome run(const test::InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call);

using test::each_tensor;
using test::first_line;

// Which tensors of inputs and result are one object.
std::vector<std::size_t> identities(const test::InputSet& inputs, const c10::IValue& result);
// Tolerances for a result: `rtol` of its largest number is nothing.
test::OracleOptions tolerance(const c10::IValue& expected, double rtol);
// The values as the interpreter has them when inputs differ by less than a float can say: how far apart
// results of two right kernels may be. `call` is given such inputs.
bool within_noise(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                  const std::function<c10::IValue(std::vector<c10::IValue>)>& call);

// Whether sr is no further from the truth than the interpreter is, but for a small factor. The truth is what
// `in_double`, the program with weights in double, makes of arguments in double.
bool near_truth(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                const std::function<c10::IValue(std::vector<c10::IValue>)>& in_double);

struct Difference {
  std::string kind, text;
  explicit operator bool() const { return !kind.empty(); }
};
Difference compare(const Outcome& expected, const Outcome& actual, const test::OracleOptions& options);

}  // namespace sr::fuzz
