#include "support/oracle.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <typeinfo>
#include <utility>

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"

namespace sr::test {

namespace {

// --- walking values ---------------------------------------------------------------------------------------------

template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) each_tensor(element, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) each_tensor(element, visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) each_tensor(entry.value(), visit);
  }
}


bool has_storage(const at::Tensor& tensor) { return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage(); }

using Copies = std::map<const c10::StorageImpl*, c10::Storage>;

at::Tensor copy_tensor(const at::Tensor& tensor, Copies& copies) {
  if (!has_storage(tensor) || tensor.is_quantized() || !tensor.device().is_cpu()) {
    return tensor.defined() ? tensor.clone() : tensor;
  }
  const c10::Storage& storage = tensor.storage();
  const auto [position, is_new] = copies.try_emplace(storage.unsafeGetStorageImpl());
  if (is_new) {
    c10::Storage bytes(c10::Storage::use_byte_size_t(), storage.nbytes(), c10::GetCPUAllocator(), true);
    if (storage.nbytes() != 0) std::memcpy(bytes.mutable_data(), storage.data(), storage.nbytes());
    position->second = bytes;
  }
  at::Tensor copy = at::empty({0}, tensor.options().requires_grad(false));
  copy.set_(position->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  if (tensor.is_conj()) copy._set_conj(true);
  if (tensor.is_neg()) copy._set_neg(true);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  return copy;
}

c10::IValue copy_value(const c10::IValue& value, Copies& copies) {
  if (value.isTensor()) return copy_tensor(value.toTensor(), copies);
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(copy_value(element, copies));
    const auto type = value.type()->expect<c10::TupleType>();
    return type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                        : c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.type()->expectRef<c10::ListType>().getElementType());
    for (const c10::IValue& element : value.toListRef()) list.push_back(copy_value(element, copies));
    return list;
  }
  if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(entry.key(), copy_value(entry.value(), copies));
    return dict;
  }
  return value;
}

// --- comparing --------------------------------------------------------------------------------------------------

std::string describe(const at::Tensor& tensor) {
  return c10::str(tensor.scalar_type(), tensor.sizes(), " strides ", tensor.layout() == at::kStrided ? tensor.strides() : at::IntArrayRef());
}

std::string compare_tensors(const at::Tensor& expected, const at::Tensor& actual, const OracleOptions& options) {
  if (expected.defined() != actual.defined()) return "one of the tensors is undefined";
  if (!expected.defined()) return {};
  const auto both = [&](const std::string& what) {
    return what + ": expected " + describe(expected) + ", got " + describe(actual);
  };
  if (expected.scalar_type() != actual.scalar_type()) return both("dtype");
  if (!expected.sizes().equals(actual.sizes())) return both("sizes");
  if (expected.layout() != actual.layout()) return "layout";
  if (expected.is_quantized()) return compare_tensors(expected.dequantize(), actual.dequantize(), options);
  if (expected.layout() != at::kStrided) return compare_tensors(expected.to_dense(), actual.to_dense(), options);
  if (expected.is_non_overlapping_and_dense() != actual.is_non_overlapping_and_dense()) return both("density");
  if (options.strides ? !expected.strides().equals(actual.strides())
                      : expected.is_contiguous() != actual.is_contiguous()) {
    return both("strides");
  }
  if (expected.requires_grad() != actual.requires_grad()) return "requires_grad";
  if (expected.is_conj() != actual.is_conj() || expected.is_neg() != actual.is_neg()) return "conj or neg bit";
  const at::Tensor a = expected.resolve_conj().resolve_neg().contiguous();
  const at::Tensor b = actual.resolve_conj().resolve_neg().contiguous();
  if (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0) return {};
  at::Tensor same = at::eq(a, b).logical_or(at::ne(a, a).logical_and(at::ne(b, b)));
  if (options.rtol > 0 || options.atol > 0) same = at::isclose(a, b, options.rtol, options.atol, true);
  if (same.all().item<bool>()) return {};
  std::ostringstream text;
  text << "values of " << describe(expected) << ": " << same.logical_not().sum().item<std::int64_t>() << " of "
       << a.numel() << " differ";
  if (a.numel() <= 24) text << ", expected " << a.flatten() << "\ngot " << b.flatten();
  return text.str();
}

std::string compare_values(const c10::IValue& expected, const c10::IValue& actual, const OracleOptions& options,
                           const std::string& path) {
  const auto at = [&](const std::string& what) { return what.empty() ? what : path + ": " + what; };
  if (expected.tagKind() != actual.tagKind()) {
    return at("expected " + expected.tagKind() + ", got " + actual.tagKind());
  }
  if (expected.isTensor()) return at(compare_tensors(expected.toTensor(), actual.toTensor(), options));
  const auto each = [&](const auto& a, const auto& b) -> std::string {
    if (a.size() != b.size()) return at(c10::str("expected ", a.size(), " elements, got ", b.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::string found = compare_values(a[i], b[i], options, path + "." + std::to_string(i));
      if (!found.empty()) return found;
    }
    return {};
  };
  if (expected.isList() || expected.isTuple() || expected.isGenericDict()) {
    if (*expected.type() != *actual.type() && !expected.isTuple()) {
      return at("expected " + expected.type()->repr_str() + ", got " + actual.type()->repr_str());
    }
  }
  if (expected.isList()) return each(expected.toListRef(), actual.toListRef());
  if (expected.isTuple()) {
    const auto names = [](const c10::IValue& value) {
      const auto name = value.type()->expectRef<c10::TupleType>().name();
      return name ? name->qualifiedName() : std::string();
    };
    if (names(expected) != names(actual)) return at("expected tuple " + names(expected) + ", got " + names(actual));
    return each(expected.toTupleRef().elements(), actual.toTupleRef().elements());
  }
  if (expected.isGenericDict()) {
    std::vector<c10::IValue> a, b;
    for (const auto& entry : expected.toGenericDict()) a.insert(a.end(), {entry.key(), entry.value()});
    for (const auto& entry : actual.toGenericDict()) b.insert(b.end(), {entry.key(), entry.value()});
    return each(a, b);
  }
  if (expected.isDouble()) {
    const double a = expected.toDouble(), b = actual.toDouble();
    const bool same = a == b || (a != a && b != b) || std::abs(a - b) <= options.atol + options.rtol * std::abs(a);
    return same ? std::string() : at(c10::str("expected ", a, ", got ", b));
  }
  if (expected.isObject() || expected.isDevice()) return {};
  std::ostringstream text;
  if (expected != actual) text << "expected " << expected << ", got " << actual;
  return at(text.str());
}

// Storages by order of first appearance and positions inside them: who shares bytes with whom.
std::vector<std::pair<std::size_t, std::int64_t>> sharing(const InputSet& inputs, const c10::IValue& result) {
  std::vector<std::pair<std::size_t, std::int64_t>> pattern;
  std::map<const c10::StorageImpl*, std::size_t> seen;
  const auto add = [&](const at::Tensor& tensor) {
    if (!has_storage(tensor)) return;
    const std::size_t id = seen.try_emplace(tensor.storage().unsafeGetStorageImpl(), seen.size()).first->second;
    pattern.emplace_back(id, tensor.storage_offset());
  };
  for (const c10::IValue& input : inputs) each_tensor(input, add);
  each_tensor(result, add);
  return pattern;
}

std::string show(const std::vector<std::pair<std::size_t, std::int64_t>>& pattern) {
  std::string text;
  for (const auto& [storage, offset] : pattern) text += c10::str(" ", storage, "+", offset);
  return text;
}

// References to the tensors and storages of inputs and result.
std::vector<std::size_t> references(const InputSet& inputs, const c10::IValue& result, bool of_result) {
  std::vector<std::size_t> counts;
  const auto add = [&](const at::Tensor& tensor) {
    if (!has_storage(tensor)) return;
    counts.push_back(tensor.use_count());
    counts.push_back(tensor.storage().use_count());
  };
  for (const c10::IValue& input : inputs) each_tensor(input, add);
  if (of_result) each_tensor(result, add);
  return counts;
}

// --- one run ----------------------------------------------------------------------------------------------------

struct Outcome {
  InputSet inputs;  // as they are afterwards
  c10::IValue result;
  bool threw = false;
  bool is_jit_exception = false;
  std::string message;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Outcome run(const InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call) {
  Outcome outcome;
  outcome.inputs = copy_inputs(inputs);
  try {
    outcome.result = call(outcome.inputs);
  } catch (const torch::jit::JITException& error) {
    outcome.threw = outcome.is_jit_exception = true;
    outcome.message = error.what();
  } catch (const c10::Error& error) {
    outcome.threw = true;
    outcome.message = error.msg();
  } catch (const std::exception& error) {
    outcome.threw = true;
    outcome.message = error.what();
  }
  return outcome;
}

std::string compare_outcomes(const Outcome& expected, const Outcome& actual, const OracleOptions& options,
                             bool keeps_outputs) {
  if (expected.threw != actual.threw) {
    return expected.threw ? "the interpreter throws, sr does not: " + expected.message : "sr throws: " + actual.message;
  }
  if (expected.threw) {
    if (expected.is_jit_exception != actual.is_jit_exception) return "another type of exception: " + actual.message;
    if (expected.message.find(first_line(actual.message)) == std::string::npos) {
      return "sr's message: " + actual.message + "\nthe interpreter's: " + expected.message;
    }
  } else {
    if (std::string found = compare_values(expected.result, actual.result, options, "result"); !found.empty()) return found;
    const auto theirs = sharing(expected.inputs, expected.result), ours = sharing(actual.inputs, actual.result);
    if (theirs != ours) return "aliasing of inputs and outputs: expected" + show(theirs) + ", got" + show(ours);
  }
  for (std::size_t i = 0; i < expected.inputs.size(); ++i) {
    OracleOptions exact;
    std::string found = compare_values(expected.inputs[i], actual.inputs[i], exact, "input " + std::to_string(i));
    if (!found.empty()) return found;
  }
  if (options.use_counts && !expected.threw) {
    const auto theirs = references(expected.inputs, expected.result, !keeps_outputs);
    const auto ours = references(actual.inputs, actual.result, !keeps_outputs);
    if (theirs != ours) return c10::str("references to inputs and outputs: expected ", theirs, ", got ", ours);
  }
  if (expected.threw && options.use_counts) {
    for (const c10::IValue& input : actual.inputs) {
      if (input.isTensor() && has_storage(input.toTensor())) {
        std::size_t times = 0;
        for (const c10::IValue& other : actual.inputs) times += other.isTensor() && other.toTensor().is_same(input.toTensor());
        if (input.toTensor().use_count() != times) return "a reference to an input is held after an exception";
      }
    }
  }
  return {};
}

// --- configurations ---------------------------------------------------------------------------------------------

struct Runner {
  std::function<c10::IValue(std::vector<c10::IValue>)> call;
  std::function<Report()> report;
  std::function<bool()> intact;
};

template <class Planner>
Runner make_runner(const StaticModule& module) {
  auto runtime = std::make_shared<StaticRuntime<Planner>>(module);
  Runner runner;
  runner.call = [runtime](std::vector<c10::IValue> args) { return (*runtime)(std::move(args)); };
  runner.report = [runtime] { return runtime->report(); };
  runner.intact = [runtime] {
    for (std::size_t i = 0; i < runtime->content()->blocks.size(); ++i) {
      if constexpr (requires { runtime->arena(i).slab().intact(); }) {
        if (!runtime->arena(i).slab().intact()) return false;
      }
    }
    return true;
  };
  return runner;
}

struct Configuration {
  const char* name;
  Runner (*make)(const StaticModule&);
  bool out = true, optimize = true, managed_outputs = false, replay = true;
};

constexpr Configuration kConfigurations[] = {
    {"linear_scan", &make_runner<memory::LinearScan>},
    {"guard_pages", &make_runner<GuardPages>},
    {"poison, managed outputs", &make_runner<Poison>, true, true, true},
    {"standard_resizing, managed outputs", &make_runner<memory::StandardResizing>, true, true, true, false},
    {"greedy_by_size, general path", &make_runner<memory::GreedyBySize>, true, true, false, false},
    {"no_reuse", &make_runner<memory::NoReuse>},
    {"linear_scan, no out variants", &make_runner<memory::LinearScan>, false},
    {"guard_pages, managed outputs, memory not optimised", &make_runner<GuardPages>, true, false, true},
};

std::string check_paths(const Report& report, const OracleOptions& options) {
  bool found = false;
  const std::string path = options.expected_path.empty() ? "out" : options.expected_path;
  for (const NodeReport& node : report.nodes) {
    if (node.key != options.managed) continue;
    found = true;
    if (name_of(node.path) != path) return node.text + " takes the path '" + name_of(node.path) + "': " + node.why;
    if (path != "out") continue;
    for (const ValueReport& value : node.outputs) {
      if (!value.managed) return node.text + " is not managed: " + value.why_not;
    }
  }
  return found ? std::string() : "no node of kind " + options.managed + " in the prepared graph";
}

std::string check_configuration(const Configuration& configuration, const torch::jit::Module& module,
                                const std::vector<InputSet>& runs, const std::vector<Outcome>& expected,
                                const OracleOptions& options) {
  StaticModuleOptions chosen;
  chosen.enable_out_variant = configuration.out;
  chosen.optimize_memory = configuration.optimize;
  chosen.manage_output_tensors = configuration.managed_outputs;
  chosen.enable_replay = configuration.replay;
  chosen.numerics = Numerics::exact;
  std::vector<std::pair<std::size_t, Outcome>> kept;
  {
    Runner runner = configuration.make(StaticModule(module, chosen));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      Outcome actual = run(runs[k % runs.size()], runner.call);
      const std::string found = compare_outcomes(expected[k], actual, options, configuration.managed_outputs);
      if (!found.empty()) return c10::str("round ", k / runs.size(), ", run ", k % runs.size(), ": ", found);
      if (k / runs.size() != 1) kept.emplace_back(k, std::move(actual));
    }
    if (!runner.intact()) return "bytes beside a managed tensor were written";
    if (configuration.out && !options.managed.empty()) {
      if (std::string found = check_paths(runner.report(), options); !found.empty()) return found;
    }
    for (const auto& [k, outcome] : kept) {
      const std::string found = compare_values(expected[k].result, outcome.result, options, "result");
      if (!found.empty()) return c10::str("the result of round ", k / runs.size(), ", run ", k % runs.size(),
                                          " changed in later runs: ", found);
    }
  }
  for (const auto& [k, outcome] : kept) {
    const std::string found = compare_values(expected[k].result, outcome.result, options, "result");
    if (!found.empty()) return c10::str("the result of run ", k, " changed when the runtime was destroyed: ", found);
  }
  return {};
}

}  // namespace

InputSet copy_inputs(const InputSet& inputs) {
  Copies copies;
  std::map<const c10::TensorImpl*, at::Tensor> same;  // one tensor given twice stays one
  InputSet all;
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && input.toTensor().defined()) {
      const auto [position, is_new] = same.try_emplace(input.toTensor().unsafeGetTensorImpl());
      if (is_new) position->second = copy_tensor(input.toTensor(), copies);
      all.emplace_back(position->second);
    } else {
      all.push_back(copy_value(input, copies));
    }
  }
  return all;
}

at::Tensor transposed(const at::Tensor& tensor) {
  return tensor.dim() < 2 ? tensor : tensor.transpose(0, -1).contiguous().transpose(0, -1);
}

at::Tensor stepped(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor;
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.back() = 2 * sizes.back() + 1;
  return at::zeros(sizes, tensor.options()).slice(-1, 1, sizes.back(), 2).copy_(tensor);
}

std::string difference(const c10::IValue& expected, const c10::IValue& actual, const OracleOptions& options) {
  return compare_values(expected, actual, options, "result");
}

c10::IValue interpret(torch::jit::Module& module, const InputSet& inputs) {
  const torch::jit::GraphOptimizerEnabledGuard unoptimised(false);
  torch::jit::getProfilingMode() = false;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::NoGradGuard no_grad;
  return module.forward(inputs);
}

void check_model(const torch::jit::Module& module, const std::vector<InputSet>& runs, const OracleOptions& options) {
  torch::jit::Module reference = module.deepcopy();
  reference.eval();
  std::vector<Outcome> expected;
  for (int round = 0; round < options.rounds; ++round) {
    for (const InputSet& inputs : runs) {
      expected.push_back(
          run(inputs, [&](std::vector<c10::IValue> args) { return interpret(reference, args); }));
    }
  }
  for (const Configuration& configuration : kConfigurations) {
    UNSCOPED_INFO(configuration.name);
    std::string found;
    try {
      found = check_configuration(configuration, module, runs, expected, options);
    } catch (const std::exception& error) {
      found = std::string("preparing the module failed: ") + error.what();
    }
    if (found.empty()) {
      SUCCEED();
    } else {
      FAIL_CHECK(configuration.name << ": " << found);
    }
  }
}

void check_script(const std::string& source, const std::vector<InputSet>& runs, const OracleOptions& options) {
  check_model(script(source), runs, options);
}

void check_op(const std::string& key, const std::string& parameters, const std::string& expression,
              const std::vector<InputSet>& runs, OracleOptions options, int results) {
  INFO(key << " as " << expression);
  std::string names = "a0", clones = "a0.clone()";
  for (int i = 1; i < results; ++i) {
    names += ", a" + std::to_string(i);
    clones += ", a" + std::to_string(i) + ".clone()";
  }
  const std::string head = "def forward(self, " + parameters + "):\n    " + names + " = " + expression + "\n    return ";
  options.managed = key;
  check_script(head + clones + "\n", runs, options);
  options.managed.clear();
  check_script(head + names + "\n", runs, options);
}

}  // namespace sr::test
