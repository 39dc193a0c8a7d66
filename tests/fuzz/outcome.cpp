#include "fuzz/outcome.hpp"

#include <algorithm>
#include <map>

#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>

#include "fuzz/environment.hpp"
#include "fuzz/random.hpp"

namespace sr::fuzz {

namespace {

// Keeps warnings for comparison instead of printing them in each of millions of calls.
struct Warnings : c10::WarningHandler {
  std::string last;
  void process(const c10::Warning& warning) override { last = warning.msg(); }
};

Warnings& warnings() {
  static Warnings handler;
  return handler;
}

}  // namespace

Outcome run(const test::InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call) {
  const c10::WarningUtils::WarningHandlerGuard here(&warnings());
  warnings().last.clear();
  Outcome outcome{test::run(inputs, call)};
  outcome.warning = warnings().last;
  return outcome;
}

std::vector<std::size_t> identities(const test::InputSet& inputs, const c10::IValue& result) {
  std::map<const c10::TensorImpl*, std::size_t> seen;
  std::vector<std::size_t> pattern;
  const auto add = [&](const at::Tensor& tensor) {
    pattern.push_back(seen.try_emplace(tensor.unsafeGetTensorImpl(), seen.size()).first->second);
  };
  for (const c10::IValue& input : inputs) each_tensor(input, add);
  each_tensor(result, add);
  return pattern;
}

test::OracleOptions tolerance(const c10::IValue& expected, double rtol) {
  test::OracleOptions options;
  options.unread_strides = false;  // an operator that no longer works in place may return others
  if (rtol == 0) return options;
  double largest = 1;
  each_tensor(expected, [&](const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.numel() == 0 || !tensor.is_floating_point()) return;
    largest = std::max(largest, tensor.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>());
  });
  options.rtol = rtol;
  options.atol = 0.1 * rtol * largest;
  return options;
}

namespace {

std::vector<at::Tensor> numbers(const Outcome& outcome) {
  std::vector<at::Tensor> all;
  const auto add = [&](const at::Tensor& tensor) { all.push_back(tensor.to(at::kDouble)); };
  each_tensor(outcome.result, add);
  for (const c10::IValue& input : outcome.inputs) each_tensor(input, add);
  return all;
}

}  // namespace

bool near_truth(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                const std::function<c10::IValue(std::vector<c10::IValue>)>& in_double) {
  const Outcome exact = run(inputs, [&](std::vector<c10::IValue> args) {
    const DoubleByDefault wide;  // integers become doubles, too
    for (const c10::IValue& argument : args) {
      each_tensor(argument, [](const at::Tensor& tensor) {
        if (tensor.defined() && tensor.is_floating_point()) tensor.set_data(tensor.to(at::kDouble));
      });
    }
    return in_double(std::move(args));
  });
  const std::vector<at::Tensor> truth = numbers(exact), right = numbers(expected), ours = numbers(actual);
  if (exact.threw || ours.size() != truth.size() || right.size() != truth.size()) return false;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!ours[i].sizes().equals(truth[i].sizes()) || !right[i].sizes().equals(truth[i].sizes())) return false;
    if (truth[i].numel() == 0) continue;
    const double error = (right[i] - truth[i]).abs().nan_to_num(0).max().item<double>();
    if (!at::allclose(truth[i], ours[i], 1e-5, 16 * error, true)) return false;
  }
  return true;
}

namespace {

void make_integers_real(const std::vector<c10::IValue>& args) {
  for (const c10::IValue& argument : args) {
    each_tensor(argument, [](const at::Tensor& tensor) {
      if (tensor.defined() && at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false))
        tensor.set_data(tensor.to(at::kFloat));
    });
  }
}

// True if the program computes the same of real numbers in place of its integers, which can then be
// perturbed.
bool may_be_real(const test::InputSet& inputs, const std::vector<at::Tensor>& right,
                 const std::function<c10::IValue(std::vector<c10::IValue>)>& call) {
  const Outcome other = run(inputs, [&](std::vector<c10::IValue> args) {
    make_integers_real(args);
    return call(std::move(args));
  });
  const std::vector<at::Tensor> real = numbers(other);
  if (other.threw || real.size() != right.size()) return false;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!real[i].sizes().equals(right[i].sizes()) || !at::allclose(right[i], real[i], 1e-6, 1e-7, true))
      return false;
  }
  return true;
}

}  // namespace

bool within_noise(const test::InputSet& inputs, const Outcome& expected, const Outcome& actual,
                  const std::function<c10::IValue(std::vector<c10::IValue>)>& call) {
  const std::vector<at::Tensor> right = numbers(expected), ours = numbers(actual);
  std::vector<double> noise(right.size(), 0);
  Random random(right.size());
  const bool has_real_integers = may_be_real(inputs, right, call);
  for (int sample = 0; sample < 16; ++sample) {
    const Outcome other = run(inputs, [&](std::vector<c10::IValue> args) {
      if (has_real_integers) make_integers_real(args);
      for (const c10::IValue& argument : args) {
        each_tensor(argument, [&](const at::Tensor& tensor) {
          if (!tensor.defined() || !tensor.is_floating_point()) return;
          // Perturbs each element by itself, because normalisation cancels a common factor. Elements that
          // share bytes are separated first: equal rows would have a variance of noise alone.
          if (!tensor.is_non_overlapping_and_dense()) tensor.set_data(tensor.clone());
          const at::Tensor bytes = at::empty({0}, tensor.options()).set_(tensor.storage());
          at::Tensor factors = at::empty(bytes.sizes(), at::kDouble);
          double* const factor = factors.mutable_data_ptr<double>();
          for (std::int64_t i = 0; i < factors.numel(); ++i) factor[i] = 1 + (random.unit() - 0.5) * 0x1p-19;
          bytes.mul_(factors.to(tensor.scalar_type()));
        });
      }
      return call(std::move(args));
    });
    if (other.threw) return false;
    const std::vector<at::Tensor> moved = numbers(other);
    if (moved.size() != right.size()) return true;  // a decision depends on the last place
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!moved[i].sizes().equals(right[i].sizes())) return true;
      if (right[i].numel() == 0) continue;
      noise[i] = std::max(noise[i], (moved[i] - right[i]).abs().nan_to_num(0).max().item<double>());
    }
  }
  if (ours.size() != right.size()) return false;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!ours[i].sizes().equals(right[i].sizes())) return false;
    if (!at::allclose(right[i], ours[i], 1e-4, 1e-5 + 16 * noise[i], true)) return false;
  }
  return true;
}

namespace {

test::InputSet with_weights(const Outcome& outcome) {
  test::InputSet all = outcome.weights;
  all.insert(all.end(), outcome.inputs.begin(), outcome.inputs.end());
  return all;
}

}  // namespace

Difference compare(const Outcome& expected, const Outcome& actual, const test::OracleOptions& options) {
  if (expected.threw != actual.threw) {
    return expected.threw
               ? Difference{"no exception", "the interpreter throws, sr does not: " + expected.message}
               : Difference{"exception", "sr throws: " + actual.message};
  }
  if (expected.threw) {
    if (expected.is_jit_exception != actual.is_jit_exception)
      return {"type of exception", "another type of exception: " + actual.message};
    if (expected.message.find(first_line(actual.message)) == std::string::npos)
      return {"message", "sr's message: " + actual.message + "\nthe interpreter's: " + expected.message};
  } else {
    if (std::string found = test::compare_values(expected.result, actual.result, options, "result");
        !found.empty()) {
      if (found.find("values of") != found.npos) return {"values", found};
      return {found.find(": strides:") != found.npos ? "strides" : "result", found};
    }
    const auto theirs = test::sharing(with_weights(expected), expected.result);
    const auto ours = test::sharing(with_weights(actual), actual.result);
    if (theirs != ours)
      return {"aliasing",
              "inputs and outputs share: expected" + test::show(theirs) + ", got" + test::show(ours)};
    const auto same = identities(expected.inputs, expected.result),
               mine = identities(actual.inputs, actual.result);
    if (same != mine) return {"identity", c10::str("which tensors are one: expected ", same, ", got ", mine)};
  }
  for (std::size_t i = 0; i < expected.inputs.size(); ++i) {
    const std::string found =
        test::compare_values(expected.inputs[i], actual.inputs[i], options, "input " + std::to_string(i));
    if (!found.empty()) return {found.find("values of") != found.npos ? "input values" : "input", found};
  }
  if (expected.warning.empty() && !actual.warning.empty() && !expected.threw)
    return {"warning", "a warning of sr only: " + actual.warning};
  if (options.use_counts && !expected.threw) {
    const auto theirs = test::references(expected.inputs, expected.result, false);
    const auto ours = test::references(actual.inputs, actual.result, false);
    if (theirs != ours)
      return {"references", c10::str("references to inputs: expected ", theirs, ", got ", ours)};
  }
  return {};
}

}  // namespace sr::fuzz
