#include "fuzz/check.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <torch/csrc/jit/runtime/graph_executor.h>

#include "fuzz/compile.hpp"
#include "fuzz/environment.hpp"
#include "fuzz/faults.hpp"
#include "fuzz/inputs.hpp"
#include "fuzz/outcome.hpp"
#include "fuzz/runner.hpp"

namespace sr::fuzz {

namespace {

class Check {
 public:
  Check(Case program, const CheckOptions& options) : program_(std::move(program)), options_(options) {}

  Verdict all(const std::vector<std::string>& names) {
    try {
      module_ = compile(program_);
    } catch (const std::exception& error) {
      return fail("does not compile", error.what());
    }
    weights_ = buffers_of(*module_);
    std::optional<Prepared> prepared;
    try {
      prepared.emplace(*module_);
    } catch (const std::exception& error) {
      return fail("preparation", error.what());
    }
    reference_ = module_->deepcopy();
    interpret_all();
    if (returns_weight_) {  // results of earlier runs would change with it, so they are not kept
      for (Run& run : program_.runs) {
        if (changes_weight(run)) run.setting = Setting::none;
      }
      // What a call may write is no tensor of the caller's but a copy, which belongs to the StaticModule.
      program_.writes_attributes |= prepared->has_state();
      inputs_.clear();
      expected_.clear();
      reference_ = module_->deepcopy();
      interpret_all();
    }
    const torch::jit::Module& after = program_.writes_attributes ? *module_ : *reference_;
    for (const at::Tensor& weight : buffers_of(after)) saved_.push_back(weight.clone());
    for (const std::string& name : names) {
      verdict_.configuration = name;
      check_configuration(configuration_of(name), *prepared);
      if (!verdict_.kind.empty() || is_over_) break;
    }
    return verdict_;
  }

 private:
  static std::vector<at::Tensor> buffers_of(const torch::jit::Module& module) {
    std::vector<at::Tensor> all;
    for (const auto& buffer : module.named_buffers()) all.push_back(buffer.value);
    return all;
  }

  test::InputSet visible(const std::vector<at::Tensor>& weights) const {
    return program_.writes_attributes ? test::InputSet{} : test::InputSet(weights.begin(), weights.end());
  }

  void interpret_all() {
    const test::InputSet weights = visible(buffers_of(*reference_));
    bool threw = false;
    for (std::size_t i = 0; i < program_.runs.size(); ++i) {
      inputs_.push_back(make_inputs(program_, i));
      change_weight(program_, *reference_, i);
      under_modes(program_.runs[i], [&] {
        expected_.push_back(run(inputs_[i], [&](std::vector<c10::IValue> args) {
          return program_.writes_attributes ? interpret_stream(*reference_, args)
                                            : test::interpret(*reference_, args);
        }));
      });
      each_tensor(expected_.back().result, [&](const at::Tensor& tensor) {
        for (const c10::IValue& weight : weights)
          returns_weight_ |=
              tensor.defined() && tensor.has_storage() && tensor.is_alias_of(weight.toTensor());
      });
      expected_.back().weights = weights;
      if (program_.writes_attributes) detach_from_weights(expected_.back());
      // A shape that is meant not to fit says nothing about the program.
      threw = threw || (expected_.back().threw && (program_.runs[i] == Run{}));
    }
    verdict_.counts.runs = program_.runs.size();
    verdict_.counts.threw = threw ? 1 : 0;
  }

  // A result may be a weight that the next run writes.
  static void detach_from_weights(Outcome& outcome) {
    test::InputSet all = outcome.inputs;
    all.push_back(outcome.result);
    all = test::copy_inputs(all);
    outcome.result = all.back();
    all.pop_back();
    outcome.inputs = std::move(all);
  }

  Verdict fail(const std::string& kind, const std::string& text) {
    verdict_.kind = kind;
    verdict_.text = text;
    return verdict_;
  }

  Outcome call(const Runner& runner, const Configuration& configuration, std::size_t i, bool& copied) {
    const Outcome& expected = expected_[i];
    std::vector<at::Tensor> outputs;
    copied = configuration.into && !expected.threw;
    each_tensor(expected.result, [&](const at::Tensor& tensor) {
      copied = copied && tensor.defined();
      outputs.push_back(tensor.defined() ? at::empty(tensor.sizes(), tensor.options()) : tensor);
    });
    if (!copied) return run(inputs_[i], runner.call);
    return run(inputs_[i], [&](const std::vector<c10::IValue>& args) -> c10::IValue {
      call_repeatedly(runner, args, outputs, i);
      return expected.result.isTensor() ? c10::IValue(outputs[0]) : c10::IValue(outputs);
    });
  }

  // Calls the runner with the same tensors several times, so that its runtime binds the program to them.
  // There is only one call if the program writes a tensor that it reads, if it changes a list, or if the
  // results are larger than kLarge, because repeating such a program takes too long.
  void call_repeatedly(const Runner& runner, const std::vector<c10::IValue>& args,
                       const std::vector<at::Tensor>& outputs, std::size_t i) const {
    runner.call_into(args, outputs);
    constexpr std::size_t kLarge = 1 << 20;  // bytes
    if (std::ranges::any_of(outputs, [](const at::Tensor& output) { return output.nbytes() > kLarge; }))
      return;
    for (int more = 0; more < 5 && !program_.writes_attributes; ++more) {
      for (std::size_t a = 0; a < args.size(); ++a) {
        if (!is_unchanged(args[a], inputs_[i][a])) return;
      }
      for (const at::Tensor& output : outputs)
        std::memset(output.storage().mutable_data(), 0x5A, output.storage().nbytes());
      runner.call_into(args, outputs);
    }
  }

  static bool is_unchanged(const c10::IValue& value, const c10::IValue& original) {
    if (value.isIntList()) return value.toIntVector() == original.toIntVector();
    std::vector<at::Tensor> tensors, originals;
    each_tensor(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
    each_tensor(original, [&](const at::Tensor& tensor) { originals.push_back(tensor); });
    // A list may hold another tensor now.
    return std::ranges::equal(tensors, originals, [](const at::Tensor& a, const at::Tensor& b) {
      const c10::Storage &in_a = a.storage(), &in_b = b.storage();
      return a.sizes() == b.sizes() && a.strides() == b.strides() && in_a.nbytes() == in_b.nbytes() &&
             (in_a.nbytes() == 0 || std::memcmp(in_a.data(), in_b.data(), in_a.nbytes()) == 0);
    });
  }

  // What the caller's tensors must hold: the results, flattened and contiguous.
  Outcome as_copied(const Outcome& expected, const Outcome& actual) const {
    Outcome outcome = expected;
    outcome.weights.clear();
    if (expected.threw) return outcome;
    std::vector<at::Tensor> tensors;
    each_tensor(expected.result, [&](const at::Tensor& tensor) {
      tensors.push_back(at::empty(tensor.sizes(), tensor.options()).copy_(tensor));
    });
    outcome.result = actual.result.isTensor() ? c10::IValue(tensors[0]) : c10::IValue(tensors);
    return outcome;
  }

  void check_configuration(const Configuration& configuration, const Prepared& prepared) {
    const bool exact = configuration.exact || program_.exact_only;
    const double rtol = exact ? 0 : program_.low_precision ? 2e-2 : 1e-4;
    std::vector<std::pair<std::size_t, Outcome>> kept;
    const auto check_kept = [&](const std::string& when) {
      for (const auto& [i, outcome] : kept) {
        test::OracleOptions options = tolerance(expected_[i].result, rtol);
        if (rtol > 0) options.atol += 1;  // compared before; only overwritten memory is looked for
        if (std::string found = test::compare_values(expected_[i].result, outcome.result, options, "result");
            !found.empty() && verdict_.kind.empty()) {
          fail("kept result", "the result of run " + std::to_string(i) + " changed " + when + ": " + found);
        }
      }
    };
    try {
      if (!program_.writes_attributes) restore_weights(program_, *module_, 0);
      Runner runner = prepared.make(configuration, exact);
      if (options_.fault != Fault::none) runner = plant(runner, options_.fault, weights_);
      for (std::size_t i = 0; i < expected_.size(); ++i) {
        bool copied = false;
        Outcome actual;
        change_weight(program_, *module_, i);
        under_modes(program_.runs[i], [&] { actual = call(runner, configuration, i, copied); });
        ++verdict_.counts.calls;
        if (program_.writes_attributes) detach_from_weights(actual);
        if (!copied) actual.weights = visible(weights_);
        test::OracleOptions options = tolerance(expected_[i].result, rtol);
        const Outcome rebuilt = copied ? as_copied(expected_[i], actual) : Outcome{};
        const Outcome& wanted = copied ? rebuilt : expected_[i];
        options.use_counts = !copied;
        Difference found = compare(wanted, actual, options);
        const bool forgiven = found && forgives(found.kind, i, actual, prepared, rtol > 0);
        // The extra runs may have written the attributes of all runtimes.
        if (forgiven && program_.writes_attributes) {
          is_over_ = true;
          return;
        }
        if (found && !forgiven) {
          fail(found.kind, "run " + std::to_string(i) + " (" +
                               std::string(kChangeNames[static_cast<std::size_t>(program_.runs[i].change)]) +
                               "): " + found.text);
          return;
        }
        // Some results are kept and others released, since a runtime that recycles results must handle both.
        // Results that may be weights which later runs write are not kept.
        if (!forgiven && !copied && !actual.threw && (i * 7 + program_.index) % 3 == 0 &&
            !program_.writes_attributes)
          kept.emplace_back(i, std::move(actual));
      }
      verdict_.counts.replayed += runner.replayed();
      if (!runner.intact()) fail("bytes beside", "bytes beside a managed tensor were written");
      check_kept("in later runs");
    } catch (const std::exception& error) {
      fail("preparation", error.what());
    }
    check_kept("when the runtime was destroyed");
    for (std::size_t i = 0; i < weights_.size() && verdict_.kind.empty(); ++i) {
      if (!at::equal(weights_[i], saved_[i])) fail("weights", "weight " + std::to_string(i) + " changed");
    }
  }

  // True if the difference is not a defect of sr: an amplified difference in the last place, or an exception
  // of an operator whose result is unused.
  bool forgives(const std::string& kind, std::size_t i, const Outcome& actual, const Prepared& prepared,
                bool tolerant) {
    const auto count = [](std::uint64_t& number) { return ++number > 0; };
    if (std::find(options_.ignored.begin(), options_.ignored.end(), kind) != options_.ignored.end())
      return count(verdict_.counts.ignored);
    if (tolerant && (kind == "values" || kind == "input values")) {
      if (!program_.writes_attributes) restore_weights(program_, *reference_, i);
      const auto reference = [&](std::vector<c10::IValue> args) {
        return test::interpret(*reference_, args);
      };
      const auto in_double = [&](std::vector<c10::IValue> args) {
        torch::jit::Module precise = compile_in_double(program_, *reference_);
        return test::interpret(precise, args);
      };
      if (!program_.writes_attributes && (within_noise(inputs_[i], expected_[i], actual, reference) ||
                                          near_truth(inputs_[i], expected_[i], actual, in_double)))
        return count(verdict_.counts.within_noise);
    }
    // The reference itself fails this way on a few programs with loops. The cause is not known.
    if (expected_[i].message.find("Expected Tensor but got None") != std::string::npos)
      return count(verdict_.counts.dead_code);
    if (expected_[i].threw) {
      const Outcome other = without_dead_code(i, prepared);
      const bool same =
          actual.threw ? other.threw && other.message.find(first_line(actual.message)) != std::string::npos
                       : !other.threw;
      test::OracleOptions close = tolerance(other.result, tolerant ? 1e-4 : 0);
      if (same && (actual.threw || test::compare_values(other.result, actual.result, close, "").empty()))
        return count(verdict_.counts.dead_code);
    }
    return false;
  }

  // The outcome of run i when the interpreter runs the graph that sr has prepared, which has no dead code.
  Outcome without_dead_code(std::size_t i, const Prepared& prepared) const {
    const auto interpret = prepared.interpreter();
    const auto call = [&](std::vector<c10::IValue> args) {
      const torch::jit::GraphOptimizerEnabledGuard unoptimised(false);  // holds for the calling thread only
      return interpret(std::move(args));
    };
    Outcome outcome;
    // Earlier runs may have written attributes that this run reads.
    for (std::size_t k = program_.writes_attributes ? 0 : i; k <= i; ++k)
      under_modes(program_.runs[k], [&] { outcome = run(inputs_[k], call); });
    return outcome;
  }

  Case program_;
  const CheckOptions& options_;
  std::optional<torch::jit::Module> module_, reference_;
  std::vector<at::Tensor> weights_, saved_;
  std::vector<test::InputSet> inputs_;
  std::vector<Outcome> expected_;
  bool is_over_ = false;
  bool returns_weight_ = false;
  Verdict verdict_;
};

}  // namespace

Verdict check(const Case& program, const std::vector<std::string>& names, const CheckOptions& options) {
  const std::vector<std::string> named = {program.configuration};
  return Check(program, options).all(program.configuration.empty() ? names : named);
}

}  // namespace sr::fuzz
