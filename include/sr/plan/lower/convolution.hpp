// Convolutions with constant weights, in fp32: on a padded copy of the image in the plan's memory, or on the
// image itself where nothing has to be padded.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sr/plan/convolution_step.hpp>
#include <sr/plan/lower/products.hpp>
#include <sr/plan/lower/windows.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan::lower {

// at(channel, row, column) for every tap.
template <class At>
std::vector<std::int32_t> offsets_of_taps(std::int64_t channels, const Axis& y, const Axis& x, const At& at) {
  std::vector<std::int32_t> offsets;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < y.kernel; ++i) {
      for (std::int64_t j = 0; j < x.kernel; ++j)
        offsets.push_back(static_cast<std::int32_t>(at(c, i * y.dilation, j * x.dilation)));
    }
  }
  return offsets;
}

// All results of a channel, in strips of one register each; the last of a row overlaps the one before.
inline void cut_strips(ConvolutionStep& step, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  if (pitch == columns) {
    columns *= rows;
    rows = 1;
  }
  const auto width = std::min(columns, static_cast<std::int64_t>(kernels::kernels().table.width));
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; x += width) {
      const std::int64_t first = std::min(x, columns - width);
      step.strips.push_back(
          {static_cast<std::int32_t>(y * pitch + first), static_cast<std::int32_t>(y * columns + first)});
    }
  }
  step.shape.strip_width = static_cast<std::size_t>(width);
  step.shape.strips = step.strips.size();
}

// The arguments of convolutions of one and two dimensions.
struct ConvolutionArguments {
  const c10::IValue &stride, &padding, &dilation;
  std::int64_t groups;

  std::array<Axis, 2> axes(std::size_t rank) const {
    std::array<Axis, 2> axes;
    read_axes(stride, rank, &Axis::step, axes);
    read_axes(padding, rank, &Axis::pad, axes);
    read_axes(dilation, rank, &Axis::dilation, axes);
    return axes;
  }
};

// What is convolved, as images of two dimensions.
struct Convolved {
  Operand in, weight, out;
  std::optional<Operand> bias;
  Axis y, x;
  std::int64_t groups = 1;

  std::int64_t group_in() const { return weight.size(1); }
  std::int64_t group_out() const { return weight.size(0) / groups; }
  std::int64_t taps() const { return group_in() * y.kernel * x.kernel; }
  double work() const { return static_cast<double>(out.count()) * static_cast<double>(taps()); }
};

inline std::optional<Convolved> read_convolution(const Lowering& lowering, const TracedNode& node,
                                                 const ConvolutionArguments& arguments) {
  const auto in = lowering.input(node, 0), weight = lowering.input(node, 1);
  if (lowering.exact() || !in || !weight) return std::nullopt;
  Convolved all{*in, *weight, lowering.output(node), lowering.input(node, 2), {}, {}, arguments.groups};
  if (!all_float({&all.in, &all.weight, &all.out})) return std::nullopt;
  if (all.bias && (!all.bias->is_float() || !all.bias->is_contiguous())) return std::nullopt;
  if (!lowering.is_constant(all.weight) || !all.weight.is_contiguous()) return std::nullopt;
  const std::size_t rank = weight->rank() - 2;  // of the image
  if (rank < 1 || rank > 2 || in->rank() < rank + 1) return std::nullopt;
  if (rank == 1) {
    for (Operand* operand : {&all.in, &all.weight, &all.out}) add_row_dimension(*operand);
  }
  const auto [y, x] = arguments.axes(rank);
  all.y = y, all.x = x;
  all.y.in = all.in.size(-2), all.x.in = all.in.size(-1);
  all.y.out = all.out.size(-2), all.x.out = all.out.size(-1);
  all.y.kernel = all.weight.size(-2), all.x.kernel = all.weight.size(-1);
  return all;
}

// How the kernel walks over one group of an image: on a padded copy, which has the number of elements that is
// returned, or on the image itself: 0. Nothing: it is too large for offsets of 32 bits.
inline std::optional<std::int64_t> shape_walk(const Convolved& all, ConvolutionStep& step) {
  const Axis &y = all.y, &x = all.x;
  const std::int64_t row = all.in.stride(-2), channel = all.in.stride(-3), channels = all.group_in();
  const bool moves_by_one = y.step == 1 && x.step == 1 && y.pad == 0 && x.pad == 0;
  const std::int64_t run = row == x.out ? x.out * y.out : x.out;
  step.pads = !moves_by_one || run < static_cast<std::int64_t>(kernels::kernels().table.width);
  const std::int64_t elements = step.pads ? channels * y.step * x.step * phase(y) * phase(x)
                                          : (channels - 1) * channel + y.in * row + x.in;
  if (std::max(elements, static_cast<std::int64_t>(all.out.count())) >=
      std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  const std::int64_t pitch = step.pads ? phase(x) : row;
  cut_strips(step, y.out, x.out, pitch);
  step.offsets = offsets_of_taps(channels, y, x, [&](std::int64_t c, std::int64_t i, std::int64_t j) {
    if (!step.pads) return c * channel + i * row + j;
    const std::int64_t of_phase = (c * y.step + i % y.step) * x.step + j % x.step;
    return (of_phase * phase(y) + i / y.step) * pitch + j / x.step;
  });
  if (!step.pads) return 0;
  step.padding = {.channels = static_cast<std::size_t>(channels),
                  .y = y,
                  .x = x,
                  .channel_stride = channel,
                  .row_stride = row,
                  .rows = phase(y),
                  .pitch = pitch};
  return elements;
}

// Where oneDNN is faster on one thread. LibTorch's time over ours (./dev bench convolutions, Zen 3, three
// runs): channels last, 16->32 3x3 on 28x28 1.4 to 1.6, 512->512 3x3 on 7x7 2.7 to 3.0, 3->64 7x7 on
// 112x112 1.2, but 8 images of the first 0.8 to 0.95, 64->64 3x3 on 56x56 0.4 to 0.75, 1x1 of 200,000
// elements and more 0.3 to 1; else 1 and more, but 64->128 3x3 on 56x56 with step 2 0.3 to 0.8.
inline bool is_left_to_libtorch(const Convolved& all) {
  const Axis &y = all.y, &x = all.x;
  if (!all.out.is_contiguous()) {
    // Without a window it is a product, to which channels that lie last are welcome. A window on each channel
    // does little between the two copies; and of a picture's channels there are too few for oneDNN's blocks.
    const bool has_window = y.kernel * x.kernel != 1;
    const bool is_picture = has_window && all.groups == 1 && all.group_in() <= 3;
    const std::size_t most = !has_window ? 16384 : all.group_in() == 1 ? 32768 : 65536;
    if (!is_picture && all.in.count() + all.out.count() > most) return true;
  }
  // Every tile of channels reads all phases again: 512 KB of them stay in the second cache.
  constexpr std::int64_t kMostInPhases = 131072;
  return y.step * x.step > 1 && all.group_in() * y.step * x.step * phase(y) * phase(x) > kMostInPhases;
}

inline bool convolve(Lowering& lowering, const TracedNode& node, const ConvolutionArguments& arguments) {
  auto read = read_convolution(lowering, node, arguments);
  if (!read) return false;
  Convolved& all = *read;
  if (is_left_to_libtorch(all)) return false;
  if (all.out.count() == 0) return true;
  if (all.taps() == 0 || is_too_much_for_one(lowering, all.work()) || !lowering.make_rows(all.in))
    return false;
  const Operand out = lowering.made_contiguous(all.out);
  ConvolutionStep step;
  const auto padded = shape_walk(all, step);
  if (!padded) return false;
  step.shape.channels = static_cast<std::size_t>(all.group_out());
  step.shape.taps = static_cast<std::size_t>(all.taps());
  step.shape.out_channel = all.y.out * all.x.out;
  step.images = all.in.rank() == 4 ? static_cast<std::size_t>(all.in.size(0)) : 1;
  step.groups = static_cast<std::size_t>(all.groups);
  step.in_image = all.in.rank() == 4 ? all.in.stride(0) : 0;
  step.in_group = all.group_in() * all.in.stride(-3);
  step.out_group = all.group_out() * step.shape.out_channel;
  step.out_image = all.groups * step.out_group;
  step.weight = {.data = lowering.constant_data(all.weight),
                 .groups = step.groups,
                 .channels = step.shape.channels,
                 .taps = step.shape.taps,
                 .of_module = lowering.of_module(all.weight)};
  if (is_for_threads(lowering, all.work())) step.cut(static_cast<std::size_t>(lowering.threads()));
  step.in = lowering.address(all.in);
  step.out = lowering.address(out);
  std::vector<StorageId> reads{all.in.storage}, writes{out.storage};
  if (all.bias) {
    step.bias = lowering.address(*all.bias);
    step.has_bias = true;
    reads.push_back(all.bias->storage);
  }
  if (step.pads) {  // a whole register is read at the last strip
    const auto width = static_cast<std::int64_t>(kernels::kernels().table.width);
    step.padded_share = *padded + width;
    const Operand copy = lowering.temporary({step.padded_share * step.copies()});
    step.padded = lowering.address(copy);
    writes.push_back(copy.storage);
  }
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return out == all.out || emit_copies(lowering, {{out, all.out}});
}

// conv1d, conv2d(input, weight, bias, stride, padding, dilation, groups)
inline bool convolution_forward(Lowering& lowering, const TracedNode& node) {
  return convolve(lowering, node, {node.inputs[3], node.inputs[4], node.inputs[5], node.inputs[6].toInt()});
}

// _convolution, convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups)
inline bool convolution_either_way(Lowering& lowering, const TracedNode& node) {
  return !node.inputs[6].toBool() &&
         convolve(lowering, node, {node.inputs[3], node.inputs[4], node.inputs[5], node.inputs[8].toInt()});
}

inline void add_convolutions(LowerTable& table) {
  table.insert({{"aten::conv1d", &convolution_forward},
                {"aten::conv2d", &convolution_forward},
                {"aten::convolution", &convolution_either_way},
                {"aten::_convolution", &convolution_either_way}});
}

}  // namespace sr::plan::lower
