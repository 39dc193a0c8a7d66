#include "fuzz/faults.hpp"

#include <csignal>
#include <memory>
#include <stdexcept>

#include "fuzz/outcome.hpp"

namespace sr::fuzz {

std::string_view name_of(Fault fault) {
  static constexpr std::string_view names[] = {
      "none",          "wrong element",  "last place",          "alias of input",   "stale output",
      "changes input", "no exception",   "lost alias",          "copied duplicate", "other strides",
      "other dtype",   "changes weight", "changes kept output", "holds input",      "throws",
      "crashes"};
  return names[static_cast<std::size_t>(fault)];
}

namespace {

struct Memory {
  int calls = 0;
  c10::IValue last;
  std::vector<c10::IValue> held;
};

// Replaces the first tensor of a result by the result of `change`.
c10::IValue with_first(const c10::IValue& result,
                       const std::function<at::Tensor(const at::Tensor&)>& change) {
  if (result.isTensor()) return change(result.toTensor());
  if (!result.isTuple()) return result;
  std::vector<c10::IValue> elements = result.toTupleRef().elements().vec();
  for (c10::IValue& element : elements) {
    if (!element.isTensor()) continue;
    element = change(element.toTensor());
    break;
  }
  return c10::ivalue::Tuple::create(std::move(elements));
}

at::Tensor changed(const at::Tensor& tensor, bool last_place) {
  if (tensor.numel() == 0) return tensor;
  at::Tensor copy = tensor.clone();
  at::Tensor element = copy.flatten().narrow(0, tensor.numel() - 1, 1);
  if (tensor.scalar_type() == at::kBool) {
    element.logical_not_();
  } else if (last_place && tensor.is_floating_point()) {
    element.copy_(at::nextafter(element.to(at::kFloat), at::full({1}, 1e30f)));
  } else {
    element.add_(1);
  }
  return copy;
}

}  // namespace

Runner plant(Runner runner, Fault fault, std::vector<at::Tensor> weights) {
  auto memory = std::make_shared<Memory>();
  runner.call = [call = runner.call, fault, memory, weights](std::vector<c10::IValue> args) -> c10::IValue {
    const bool wrong = ++memory->calls > 2;
    c10::IValue result;
    try {
      result = call(args);
    } catch (const std::exception&) {
      if (fault == Fault::no_exception && wrong) return {};
      throw;
    }
    const c10::IValue before = std::exchange(memory->last, result);
    if (!wrong) return result;
    switch (fault) {
      case Fault::wrong_element:
        return with_first(result, [](const at::Tensor& t) { return changed(t, false); });
      case Fault::last_place:
        return with_first(result, [](const at::Tensor& t) { return changed(t, true); });
      case Fault::alias_of_input:  // the right values, in the caller's memory
        if (args[0].isTensor()) {
          return with_first(result, [&](const at::Tensor& t) {
            const at::Tensor& input = args[0].toTensor();
            return input.sizes().equals(t.sizes()) && at::equal(input, t) ? input.view(t.sizes()) : t;
          });
        }
        return result;
      case Fault::stale_output:
        return before;
      case Fault::changes_input:
        if (args[0].isTensor() && args[0].toTensor().is_floating_point() && args[0].toTensor().numel() > 0)
          args[0].toTensor().flatten().narrow(0, 0, 1).add_(1);
        return result;
      case Fault::lost_alias:
      case Fault::copied_duplicate:
        return with_first(result, [](const at::Tensor& t) { return t.clone(); });
      case Fault::other_strides:
        return with_first(result, [](const at::Tensor& t) { return test::transposed(t); });
      case Fault::other_dtype:
        return with_first(result, [](const at::Tensor& t) { return t.to(at::kDouble); });
      case Fault::changes_weight:
        if (!weights.empty()) weights[0].fill_(17);
        return result;
      case Fault::changes_kept_output:
        each_tensor(before, [](const at::Tensor& t) {
          if (t.numel() > 0 && t.is_non_overlapping_and_dense()) t.zero_();
        });
        return result;
      case Fault::holds_input:
        memory->held = args;
        return result;
      case Fault::throws:
        throw std::runtime_error("planted");
      case Fault::crashes:
        std::raise(SIGSEGV);
        return result;
      default:
        return result;
    }
  };
  return runner;
}

}  // namespace sr::fuzz
