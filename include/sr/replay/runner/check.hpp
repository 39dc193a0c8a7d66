// Compares a replay with the interpreter, step by step, on arguments of a real call.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/options.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/lowering/image_layouts.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Copies the arguments to other addresses and offsets, with the same sizes and strides: a trace that depends
// on addresses or offsets then disagrees with the replay on the caller's arguments.
inline c10::IValue moved(const c10::IValue& value) {
  return sr::detail::with_tensors(value, [](const at::Tensor& tensor) {
    if (!tensor.has_storage() || tensor.layout() != at::kStrided || tensor.is_quantized() ||
        !tensor.is_non_overlapping_and_dense())
      return tensor;
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).copy_(tensor);
  });
}

class ProgramCheck {
 public:
  // `trace` was recorded just now, with equal arguments.
  ProgramCheck(const Program& program, const Trace& trace, Numerics numerics)
      : program_(program),
        trace_(trace),
        exact_(numerics == Numerics::exact),
        made_by_(trace.storages.size()) {
    for (TensorId id = 0; id < trace.tensors.size(); ++id)
      precision_ = std::max(precision_, precision_of(trace.tensor(id).scalar_type()));
    for (TensorId id = 0; id < trace.tensors.size(); ++id) {
      std::vector<TensorId>& made = made_by_[trace.tensors[id].storage];
      if (made.empty()) made.push_back(id);  // the first is the producer's, others are views of it
    }
  }

  void poison_arena() const {
    for (std::size_t i = 0; i < program_.placed.size(); ++i) poison(i);
  }

  // Must be called after each step. Throws a CheckFailedError that names the node if the step wrote a wrong
  // value. Poisons memory whose lifetime ends here.
  void after(std::size_t step) const {
    for (const StorageId storage : program_.notes->writes[step]) {
      if (storage >= made_by_.size() || program_.bases[storage] == nullptr ||
          trace_.storages[storage].overwritten) {
        continue;
      }
      for (const TensorId id : made_by_[storage]) compare(step, id);
    }
    for (std::size_t i = 0; i < program_.placed.size(); ++i) {
      if (program_.requests[i].end == step + 1) poison(i);
    }
  }

 private:
  void poison(std::size_t i) const {
    if (program_.requests[i].bytes != 0)
      std::memset(program_.bases[program_.placed[i]], 0xFF, program_.requests[i].bytes);
  }

  void compare(std::size_t step, TensorId id) const {
    const at::Tensor& expected = trace_.tensor(id);
    if (expected.numel() == 0) return;
    const StorageId storage = trace_.tensors[id].storage;
    const at::Tensor actual =
        at::from_blob(program_.bases[storage] +
                          expected.storage_offset() * static_cast<std::int64_t>(expected.element_size()),
                      expected.sizes(),
                      program_.notes->storages[storage].channels_last
                          ? pinned(strides_with_channels_last(constant_dims(expected.sizes())))
                          : Numbers(expected.strides().begin(), expected.strides().end()),
                      expected.options());
    const std::string found = difference(expected, actual, exact_, precision_);
    if (found.empty()) return;
    const std::uint32_t producer = program_.notes->storages[storage].producer;
    const torch::jit::Node& node =
        *program_.notes->nodes[producer != kNone ? producer : program_.steps[step].node];
    throw CheckFailedError("A replay differs from the interpreter in the result of " +
                           sr::detail::place_of(node) + ": " + found + " The plan is given up.");
  }

 public:
  // The difference between 1 and the next larger number of the dtype (machine epsilon), for bfloat16 and
  // float16. Returns 0 for other dtypes.
  static double precision_of(c10::ScalarType type) {
    return type == at::kBFloat16 ? 0x1p-7 : type == at::kHalf ? 0x1p-10 : 0;
  }

  // Compares the values to the bit if `exact`, else with the error that the kernels of a few steps may
  // accumulate. Returns an empty string if they agree. A sum in another order may round to the next number of
  // a 16-bit dtype, and values that are computed from it may differ as much, also in other dtypes.
  // `precision` is what precision_of returns.
  static std::string difference(const at::Tensor& expected, const at::Tensor& actual, bool exact,
                                double precision) {
    if (at::isFloatingType(expected.scalar_type()) && !exact) {
      const at::Tensor a = expected.to(at::kDouble), b = actual.to(at::kDouble);
      const at::Tensor finite = a.abs().nan_to_num(0, 0, 0);
      const double largest = finite.numel() == 0 ? 0 : finite.max().item<double>();
      const double rtol = std::max(1e-3, 2 * precision);
      const double atol = precision != 0 ? precision / 2 * largest : 1e-5 * std::max(1.0, largest);
      if (at::allclose(b, a, rtol, atol, /*equal_nan=*/true)) return {};
      const double worst = (a - b).abs().nan_to_num(0, 0, 0).max().item<double>();
      return "largest difference " + std::to_string(worst) + ".";
    }
    const at::Tensor same =
        at::isFloatingType(expected.scalar_type()) || at::isComplexType(expected.scalar_type())
            ? at::eq(expected, actual).logical_or(at::isnan(expected).logical_and(at::isnan(actual)))
            : at::eq(expected, actual);
    const auto wrong = expected.numel() - same.sum().item<std::int64_t>();
    return wrong == 0 ? std::string() : std::to_string(wrong) + " of its elements.";
  }

 private:
  const Program& program_;
  const Trace& trace_;
  bool exact_;
  double precision_ = 0;                        // of the type with the fewest digits that the trace has
  std::vector<std::vector<TensorId>> made_by_;  // by storage
};

}  // namespace sr::replay
