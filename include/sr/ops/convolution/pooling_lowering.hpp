// Max pooling and mean pooling in fp32.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/convolution/byte_pooling_lowering.hpp>
#include <sr/ops/convolution/walks.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/ops/reduction/lowering.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/image_accesses.hpp>

namespace sr::replay {

struct PoolStep final : ClonableStep<PoolStep> {
  std::string_view name() const override { return "pooling"; }
  Size planes;
  Size images = 1;
  std::int64_t planes_of_image = 0, in_image = 0, out_image = 0;  // and elements
  kernels::Pooling shape;                                         // `planes` are those of this call
  std::vector<float> divisors;                                    // of means; empty: maxima
  Address in, out, scratch;

  std::size_t vector_bytes() const { return bytes_of(divisors); }

  RunStep settle(SizeValues& values) override {
    shape.planes = values.count(planes);
    return nullptr;
  }

  bool list_accesses(ImageAccesses& images_in) const override {
    images_in.images = images;
    images_in.add(in, in_image, in_image, /*writes=*/false);
    images_in.add(out, out_image, out_image, /*writes=*/true);
    return true;
  }
  void keep_one_image() override { planes = planes_of_image; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const PoolStep&>(payload);
    kernels::Pooling pool = self.shape;
    pool.in = self.in.in<const float>(context.bases);
    pool.out = self.out.in<float>(context.bases);
    pool.scratch = self.scratch.in<float>(context.bases);
    const kernels::Table& table = kernels::kernels().table;
    if (self.divisors.empty()) {
      table.max_pool(pool);
    } else {
      table.mean_pool(pool, self.divisors.data());
    }
  }
};

namespace lower {

// The number of elements that ATen divides by: those of the window inside the padded image, or inside the
// image.
struct WindowDivisor {
  bool with_padding = true;
  std::optional<double> given;

  float operator()(const Axis& y, std::int64_t i, const Axis& x, std::int64_t j) const {
    if (given) return static_cast<float>(*given);
    return std::max(static_cast<float>(elements(y, i) * elements(x, j)), 1.0F);
  }
  std::int64_t elements(const Axis& axis, std::int64_t at) const {
    const std::int64_t begin = at * axis.step - axis.pad;
    const std::int64_t end = std::min(begin + axis.kernel, axis.in + axis.pad);
    if (with_padding) return end - begin;
    return std::min(end, axis.in) - std::max<std::int64_t>(begin, 0);
  }
};

// Images of other layouts are copied to NCHW, and results back. From some size on LibTorch's kernels are
// faster.
inline constexpr std::int64_t kMostMoved = 4096;

// `divisor` is for means; null selects maxima.
inline bool pool(Lowering& lowering, const TracedNode& node, std::array<Axis, 2> axes, bool has_rows,
                 const WindowDivisor* divisor) {
  auto in = lowering.input(node, 0);
  const Operand wanted = lowering.output(node);
  if (lowering.exact() || !in || !all_float({&*in, &wanted})) return false;
  if (wanted.count() == 0) return true;
  if (divisor == nullptr && has_rows && max_pool_of_bytes(lowering, *in, wanted, axes)) return true;
  const bool by_pixels = has_rows && is_dense_by_pixels(*in) && is_dense_by_pixels(wanted);
  if (!by_pixels && !wanted.is_contiguous() && in->count() + wanted.count() > kMostMoved) return false;
  if (!by_pixels) in = lowering.contiguous(*in);
  if (!by_pixels && !in->is_contiguous()) return false;
  const Operand made = by_pixels ? wanted : lowering.made_contiguous(wanted);
  Operand out = made;
  if (!has_rows) {
    add_row_dimension(*in);
    add_row_dimension(out);
  }
  auto& [y, x] = axes;
  y.in = in->size(-2).pin(), x.in = in->size(-1).pin();
  y.out = out.size(-2).pin(), x.out = out.size(-1).pin();
  PoolStep step;
  step.shape = {.planes = 0, .y = y, .x = x};
  step.planes = out.count() / (y.out * x.out);
  if (by_pixels) {
    step.shape.channels = static_cast<std::size_t>(in->size(-3).pin());
    step.planes = step.planes / in->size(-3).pin();
  } else {
    const std::int64_t row = std::max(x.pad + x.in, (x.out - 1) * x.step + reach(x) + 1);
    step.shape.phase_width = (row + x.step - 1) / x.step;
  }
  const Size& channels = in->size(-3);
  if (in->rank() == 4 && channels.is_constant()) {
    step.images = in->size(0);
    step.planes_of_image = by_pixels ? 1 : channels.recorded();
    step.in_image = channels.recorded() * y.in * x.in;
    step.out_image = channels.recorded() * y.out * x.out;
  }
  if (divisor != nullptr) {
    for (std::int64_t i = 0; i < y.out; ++i) {
      for (std::int64_t j = 0; j < x.out; ++j) step.divisors.push_back((*divisor)(y, i, x, j));
    }
  }
  step.in = lowering.address(*in);
  step.out = lowering.address(out);
  std::vector<StorageId> writes{out.storage};
  if (!by_pixels) {
    const Operand scratch = lowering.temporary({2 * x.step * step.shape.phase_width});
    step.scratch = lowering.address(scratch);
    writes.push_back(scratch.storage);
  }
  lowering.emit(std::move(step), {in->storage}, std::move(writes));
  return made == wanted || emit_copies(lowering, {{made, wanted}});
}

// Arguments 1 to 3 are the window, its step (the window's size if empty) and the padding.
inline std::array<Axis, 2> pooled_axes(const TracedNode& node, std::size_t rank) {
  std::array<Axis, 2> axes;
  read_axes(node.inputs[1], rank, &Axis::kernel, axes);
  read_axes(node.inputs[2].toIntVector().empty() ? node.inputs[1] : node.inputs[2], rank, &Axis::step, axes);
  read_axes(node.inputs[3], rank, &Axis::pad, axes);
  return axes;
}

// max_pool1d, max_pool2d(x, kernel, stride, padding, dilation, ceil_mode)
template <std::size_t kRank>
bool max_pool(Lowering& lowering, const TracedNode& node) {
  auto axes = pooled_axes(node, kRank);
  read_axes(node.inputs[4], kRank, &Axis::dilation, axes);
  return pool(lowering, node, axes, kRank == 2, nullptr);
}

// avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
inline bool avg_pool2d(Lowering& lowering, const TracedNode& node) {
  WindowDivisor divisor{.with_padding = node.inputs[5].toBool(), .given = {}};
  if (!node.inputs[6].isNone()) divisor.given = static_cast<double>(node.inputs[6].toInt());
  return pool(lowering, node, pooled_axes(node, 2), true, &divisor);
}

// avg_pool1d(x, kernel, stride, padding, ceil_mode, count_include_pad)
inline bool avg_pool1d(Lowering& lowering, const TracedNode& node) {
  const WindowDivisor divisor{.with_padding = node.inputs[5].toBool(), .given = {}};
  return pool(lowering, node, pooled_axes(node, 1), false, &divisor);
}

// The mean of each plane.
inline bool mean_of_planes(Lowering& lowering, const Operand& in, const Operand& out) {
  if (out.count() == 0) return false;
  std::vector<bool> reduced(in.rank(), false);
  reduced[in.rank() - 1] = reduced[in.rank() - 2] = true;
  return reduce_operand(lowering, in, reduced, out, {.divisor = in.count() / out.count()});
}

inline ImageUse images_of_adaptive_pool(const Trace& trace, const TracedNode& node) {
  const Dims& out = trace.layout_of(node.outputs[0].toTensor()).sizes;
  const bool is_mean = out.size() == 4 && out[2] == 1 && out[3] == 1;
  return {.takes_channels_last = true, .mixes_layouts = is_mean};
}

// adaptive_avg_pool2d(x, output_size) if the sizes divide the image's.
inline bool adaptive_avg_pool2d(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  // LibTorch's mean of one element that is -0 is 0.
  if (!in || in->rank() < 3 || lowering.exact()) return false;
  if (in->size(-1) == out.size(-1) && in->size(-2) == out.size(-2)) return copy(lowering, node);
  if (out.size(-1) == 1 && out.size(-2) == 1) return mean_of_planes(lowering, *in, out);
  std::array<Axis, 2> axes;
  for (const std::int64_t d : {-2, -1}) {
    if (out.size(d) == 0 || in->size(d) == 0 || in->size(d) % out.size(d) != 0) return false;
    Axis& axis = axes[static_cast<std::size_t>(d + 2)];
    axis.kernel = axis.step = (in->size(d) / out.size(d)).pin();
  }
  const WindowDivisor divisor;
  return pool(lowering, node, axes, true, &divisor);
}

}  // namespace lower
}  // namespace sr::replay
