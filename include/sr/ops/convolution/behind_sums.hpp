// What the step of a convolution does to the floats that it computed, while they are in the cache.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <c10/util/ArrayRef.h>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/vector_ops.hpp>
#include <sr/replay/steps/activations.hpp>

namespace sr::replay {

// The number of a vector op whose other operand is a result; nullopt if the activation is none of VectorOp.
template <class VectorOp>
std::optional<float> number_of(const Activation& activation) {
  const bool is_second = activation.of_step == 0;
  const bool is_op = activation.operands == 2 &&
                     activation.loop == kernels::loops<VectorOp>().by_scalars[is_second ? 0b10 : 0b01];
  return is_op ? std::optional(activation.numbers[is_second ? 1 : 0]) : std::nullopt;
}

// Quantization: round(x * scale) + zero, from `least` to `most`.
struct Quantization {
  float scale = 1, zero = 0, least = 0, most = 0;

  // The quantization to bytes that the activations are, if they are one.
  static std::optional<Quantization> of(c10::ArrayRef<Activation> all, bool is_signed) {
    using namespace kernels::vector_ops;
    if (all.size() != 3 && all.size() != 4) return std::nullopt;
    const Activation &round = all[1], &clamp = all.back();
    const auto scale = number_of<Mul>(all[0]);
    const std::optional<float> zero = all.size() == 4 ? number_of<Add>(all[2]) : std::optional(0.0F);
    if (!scale || !zero || round.loop != kernels::loops<Round>().by_scalars[0] ||
        clamp.loop != kernels::loops<Clamp>().by_scalars[0b110] || clamp.of_step != 0)
      return std::nullopt;
    const Quantization found{*scale, *zero, clamp.numbers[1], clamp.numbers[2]};
    return found.is_of_bytes(is_signed) ? std::optional(found) : std::nullopt;
  }
  float operator()(float x) const {
    return std::fmin(most, std::fmax(least, std::nearbyint(x * scale) + zero));
  }
  // Makes a kernel quantize.
  void set(kernels::Int8Finish& finish, bool is_signed) const {
    finish.scale = scale;
    finish.zero = static_cast<std::int32_t>(zero);
    finish.least = least;
    finish.most = most;
    finish.to_bytes = true;
    finish.to_signed = is_signed;
  }

 private:
  // True if the results are whole numbers of 8 bits, and grow with x.
  bool is_of_bytes(bool is_signed) const {
    const auto is_byte = [](float x, float low) {
      return x >= low && x <= low + 255 && x == std::nearbyint(x);
    };
    const float low = is_signed ? -128 : 0;
    return scale > 0 && is_byte(zero, low) && is_byte(least, low) && is_byte(most, low);
  }
};

// Pointwise operations on the results of a step, followed by a conversion to 8-bit integers.
struct BehindSums {
  Activations activations;
  kernels::Convert convert = nullptr;  // null if the results are floats, or are quantized
  bool quantizes = false;
  kernels::Int8Finish quantization;  // what quantize_floats needs of it

  bool writes_bytes() const { return convert != nullptr || quantizes; }
  bool is_nothing() const { return activations.empty() && !writes_bytes(); }

  // Converts the results to 8-bit integers. If the last activations quantize, quantize_floats replaces them
  // and the conversion.
  void write_bytes(kernels::Convert to_bytes, bool is_signed) {
    const c10::ArrayRef<Activation> all(activations);
    for (const std::size_t count : {std::size_t{4}, std::size_t{3}}) {
      if (all.size() < count || kernels::kernels().table.quantize_floats == nullptr) continue;
      const auto found = Quantization::of(all.slice(all.size() - count), is_signed);
      if (!found) continue;
      found->set(quantization, is_signed);
      quantizes = true;
      activations.resize(activations.size() - count);
      return;
    }
    convert = to_bytes;
  }
  // Replaces n floats, or writes the n bytes that they become.
  void run(std::size_t n, float* from, std::byte* to) const {
    run_all(activations, n, from);
    if (quantizes) {
      kernels::Int8Finish own = quantization;
      own.out = to;
      kernels::kernels().table.quantize_floats(n, from, own);
    } else if (convert != nullptr) {
      convert(n, from, to);
    }
  }
};

}  // namespace sr::replay
