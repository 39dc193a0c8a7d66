// The outcome of one call, and the comparison of two outcomes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/oracle.hpp"
#include "support/outcome.hpp"
#include "support/values.hpp"

namespace sr::fuzz {

struct Outcome : test::Outcome {
  test::InputSet weights = {};  // tensors with which a result may share memory
  std::string warning = {};     // the last one that was printed
};

Outcome run(const test::InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call);

using test::each_tensor;
using test::first_line;

// Which tensors among inputs and results are the same object.
std::vector<std::size_t> identities(const test::InputSet& inputs, const c10::IValue& result);
// Tolerances for a result: a difference of `rtol` times its largest number is ignored.
test::OracleOptions tolerance(const c10::IValue& expected, double rtol);
// The results of the interpreter for inputs that differ by less than half an ulp: the distance by which two
// correct kernels may differ. `call` is given such inputs.
bool within_noise(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                  const std::function<c10::IValue(std::vector<c10::IValue>)>& call);

// True if sr is no further from the truth than the interpreter is, up to a small factor. The truth is the
// result of `in_double`, the program with weights in double, for arguments in double.
bool near_truth(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                const std::function<c10::IValue(std::vector<c10::IValue>)>& in_double);

struct Difference {
  std::string kind, text;
  explicit operator bool() const { return !kind.empty(); }
};
Difference compare(const Outcome& expected, const Outcome& actual, const test::OracleOptions& options);

}  // namespace sr::fuzz
