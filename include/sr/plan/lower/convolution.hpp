// Convolutions with constant weights, in fp32: on a padded copy of the image in the plan's memory, or on the
// image itself where nothing has to be padded.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sr/plan/lower/products.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan {

struct ConvolutionStep final : Payload {
  kernels::Convolution shape;  // of one group of one image
  kernels::PaddedImage padding;
  std::vector<std::int32_t> offsets;
  std::vector<kernels::Strip> strips;
  std::shared_ptr<const AlignedFloats> weight;
  bool pads = false, has_bias = false;
  Address in, padded, bias, out;
  std::size_t images = 0, groups = 0;
  std::int64_t in_image = 0, in_group = 0, out_image = 0, out_group = 0;  // distances in elements

  // How many results there are.
  std::size_t results() const {
    return images * groups * shape.channels * static_cast<std::size_t>(shape.out_channel);
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ConvolutionStep&>(payload);
    kernels::Convolution shape = self.shape;
    kernels::PaddedImage padding = self.padding;
    shape.offsets = self.offsets.data();
    shape.at = self.strips.data();
    const kernels::Table& table = kernels::kernels().table;
    const auto* in = self.in.in<const float>(context.bases);
    auto* out = self.out.in<float>(context.bases);
    const float* bias = self.has_bias ? self.bias.in<const float>(context.bases) : nullptr;
    if (self.pads) padding.to = self.padded.in<float>(context.bases);
    for (std::size_t image = 0; image < self.images; ++image, in += self.in_image, out += self.out_image) {
      for (std::size_t g = 0; g < self.groups; ++g) {
        const auto group = static_cast<std::int64_t>(g);
        shape.in = in + group * self.in_group;
        if (self.pads) {
          padding.from = shape.in;
          table.pad_image(padding);
          shape.in = padding.to;
        }
        shape.weight = self.weight->data + g * shape.channels * shape.taps;
        shape.bias = bias == nullptr ? nullptr : bias + g * shape.channels;
        shape.out = out + group * self.out_group;
        table.convolve(shape);
      }
    }
  }
};

namespace lower {

// One dimension of an image and what moves along it.
struct Axis {
  std::int64_t in = 1, kernel = 1, step = 1, pad = 0, dilation = 1, out = 1;

  std::int64_t reach() const { return (kernel - 1) * dilation; }
  // Elements of a phase that results need.
  std::int64_t phase() const { return out + reach() / step; }
};

// Where the element lies that tap (c, y, x) multiplies for the first result, in the padded image.
inline std::vector<std::int32_t> padded_offsets(std::int64_t channels, const Axis& y, const Axis& x) {
  std::vector<std::int32_t> offsets;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < y.kernel; ++i) {
      for (std::int64_t j = 0; j < x.kernel; ++j) {
        const std::int64_t row = i * y.dilation, column = j * x.dilation;
        const std::int64_t phase = (c * y.step + row % y.step) * x.step + column % x.step;
        offsets.push_back(
            static_cast<std::int32_t>((phase * y.phase() + row / y.step) * x.phase() + column / x.step));
      }
    }
  }
  return offsets;
}

// The same in the image itself.
inline std::vector<std::int32_t> plain_offsets(std::int64_t channels, const Axis& y, const Axis& x,
                                               std::int64_t channel_stride, std::int64_t row_stride) {
  std::vector<std::int32_t> offsets;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < y.kernel; ++i) {
      for (std::int64_t j = 0; j < x.kernel; ++j) {
        offsets.push_back(
            static_cast<std::int32_t>(c * channel_stride + i * y.dilation * row_stride + j * x.dilation));
      }
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

// Numbers for the last `rank` of y and x: one for all of them, or one each.
inline void read_axes(const c10::IValue& list, std::size_t rank, std::int64_t Axis::*member,
                      std::array<Axis, 2>& axes) {
  const auto values = list.toIntVector();
  for (std::size_t d = 0; d < rank; ++d) axes[2 - rank + d].*member = values[values.size() == 1 ? 0 : d];
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

// A tensor without its dimension of rows as one of a single row.
inline void add_row_dimension(Operand& operand) {
  operand.sizes.insert(operand.sizes.end() - 1, 1);
  operand.strides.insert(operand.strides.end() - 1, operand.strides.back() * operand.sizes.back());
}

inline bool convolve(Lowering& lowering, const TracedNode& node, const ConvolutionArguments& arguments) {
  auto in = lowering.input(node, 0), weight = lowering.input(node, 1);
  Operand out = lowering.output(node);
  const auto bias = lowering.input(node, 2);
  if (lowering.exact() || !in || !weight || !all_float({&*in, &*weight, &out})) return false;
  if (bias && (!bias->is_float() || !bias->is_contiguous())) return false;
  if (!lowering.is_constant(*weight) || !weight->is_contiguous() || !out.is_contiguous()) return false;
  const std::size_t rank = weight->rank() - 2;  // of the image
  if (rank < 1 || rank > 2 || in->rank() < rank + 1) return false;
  if (out.count() == 0) return true;
  auto [y, x] = arguments.axes(rank);
  const std::size_t groups = static_cast<std::size_t>(arguments.groups);
  ConvolutionStep step;
  if (rank == 1) {
    for (Operand* operand : {&*in, &*weight, &out}) add_row_dimension(*operand);
  }
  const std::int64_t group_in = weight->size(1), group_out = weight->size(0) / arguments.groups;
  y.in = in->size(-2), x.in = in->size(-1);
  y.out = out.size(-2), x.out = out.size(-1);
  y.kernel = weight->size(-2), x.kernel = weight->size(-1);
  const std::int64_t taps = group_in * y.kernel * x.kernel;
  const double work = static_cast<double>(out.count()) * static_cast<double>(taps);
  if (work > kMostForOneThread && at::get_num_threads() != 1) return false;
  if (taps == 0) return false;
  if (in->stride(-1) != 1 && x.in != 1) in = lowering.contiguous(*in);
  if (in->stride(-1) != 1 && x.in != 1) return false;

  const bool moves_by_one = y.step == 1 && x.step == 1 && y.pad == 0 && x.pad == 0;
  const std::int64_t row = in->stride(-2), channel = in->stride(-3);
  const std::int64_t run = row == x.out ? x.out * y.out : x.out;
  const auto width = static_cast<std::int64_t>(kernels::kernels().table.width);
  step.pads = !moves_by_one || run < width;
  // Offsets are 32 bits wide.
  const std::int64_t reach = step.pads ? group_in * y.step * x.step * y.phase() * x.phase()
                                       : (group_in - 1) * channel + y.in * row + x.in;
  if (std::max(reach, static_cast<std::int64_t>(out.count())) >= std::numeric_limits<std::int32_t>::max())
    return false;
  if (step.pads) {
    step.offsets = padded_offsets(group_in, y, x);
    cut_strips(step, y.out, x.out, x.phase());
  } else {
    step.offsets = plain_offsets(group_in, y, x, channel, row);
    cut_strips(step, y.out, x.out, row);
  }
  step.shape.channels = static_cast<std::size_t>(group_out);
  step.shape.taps = static_cast<std::size_t>(taps);
  step.shape.out_channel = y.out * x.out;
  step.images = in->rank() == 4 ? static_cast<std::size_t>(in->size(0)) : 1;
  step.groups = groups;
  step.in_image = in->rank() == 4 ? in->stride(0) : 0;
  step.in_group = group_in * channel;
  step.out_group = group_out * step.shape.out_channel;
  step.out_image = arguments.groups * step.out_group;
  const WeightTaps taps_of{lowering.constant_data(*weight), groups, step.shape.channels, step.shape.taps};
  step.weight = lowering.of_module(*weight) ? lowering.packed().find_or_pack(taps_of) : pack(taps_of);
  step.in = lowering.address(*in);
  step.out = lowering.address(out);
  std::vector<StorageId> reads{in->storage}, writes{out.storage};
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    reads.push_back(bias->storage);
  }
  if (step.pads) {
    step.padding = {.channels = static_cast<std::size_t>(group_in),
                    .height = y.in,
                    .width = x.in,
                    .channel_stride = channel,
                    .row_stride = row,
                    .pad_y = y.pad,
                    .pad_x = x.pad,
                    .step_y = y.step,
                    .step_x = x.step,
                    .rows = y.phase(),
                    .pitch = x.phase()};
    const Operand padded = lowering.temporary({reach + width});  // a whole register is read at the last strip
    step.padded = lowering.address(padded);
    writes.push_back(padded.storage);
  }
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return true;
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

}  // namespace lower
}  // namespace sr::plan
