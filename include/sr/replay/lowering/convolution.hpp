// Convolutions with constant weights in fp32, on a padded copy of the image, or on the image itself if it
// needs no padding.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/lowering/convolved.hpp>
#include <sr/replay/lowering/int8_convolution.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/threads.hpp>
#include <sr/replay/lowering/windows.hpp>
#include <sr/replay/steps/convolution_step.hpp>

namespace sr::replay::lower {

// Calls at(channel, row, column) for every tap.
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

// Covers all results of a channel with strips of one register each. The last strip of a row overlaps the one
// before.
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

// Covers each result by itself.
inline void list_pixels(ConvolutionStep& step, const Axis& y, const Axis& x, std::int64_t pitch) {
  for (std::int64_t i = 0; i < y.out; ++i) {
    for (std::int64_t j = 0; j < x.out; ++j) {
      step.strips.push_back({static_cast<std::int32_t>(i * y.step * pitch + j * x.step),
                             static_cast<std::int32_t>(i * x.out + j)});
    }
  }
  step.shape.strip_width = 1;
  step.shape.strips = step.strips.size();
}

// One group of an image as a kernel reads it: a padded copy, or the image itself.
struct Walk {
  bool copies = false;
  Axis y, x;                          // of the copy: with steps, it is taken apart by phases
  std::int64_t channel = 0, row = 0;  // distances
  std::int64_t rows = 0;              // of a phase

  std::int64_t elements(std::int64_t channels) const {
    return copies ? channels * y.step * x.step * rows * row : (channels - 1) * channel + y.in * row + x.in;
  }
  kernels::PaddedImage padding(const Convolved& all) const {
    return {.channels = static_cast<std::size_t>(all.group_in()),
            .y = y,
            .x = x,
            .channel_stride = all.in.stride(-3).pin(),
            .row_stride = all.in.stride(-2).pin(),
            .rows = rows,
            .pitch = row};
  }
};

inline Walk walk_on_image(const Convolved& all) {
  return {false, all.y, all.x, all.in.stride(-3).pin(), all.in.stride(-2).pin(), all.y.in};
}

// Strips are runs of adjacent elements; where the window moves by more than one, of one phase.
inline Walk walk_by_strips(const Convolved& all) {
  const Axis &y = all.y, &x = all.x;
  const Walk on_image = walk_on_image(all);
  const bool moves_by_one = y.step == 1 && x.step == 1 && y.pad == 0 && x.pad == 0;
  const std::int64_t run = on_image.row == x.out ? x.out * y.out : x.out;
  if (moves_by_one && run >= static_cast<std::int64_t>(kernels::kernels().table.width)) return on_image;
  return {true, y, x, y.step * x.step * phase(y) * phase(x), phase(x), phase(y)};
}

inline Walk walk_by_pixels(const Convolved& all) {
  if (all.y.pad == 0 && all.x.pad == 0) return walk_on_image(all);
  Axis y = all.y, x = all.x;
  const std::int64_t rows = (y.out - 1) * y.step + reach(y) + 1, row = (x.out - 1) * x.step + reach(x) + 1;
  y.step = x.step = 1;
  return {true, y, x, rows * row, row, rows};
}

// Whether convolve_pixels is faster than convolve. Estimates the cost of both: multiply-adds, including those
// on idle parts of registers, and copied elements. The constants were measured on AVX-512 (decision 14):
// writing a pixel costs as much as 16 taps, and copying an element as much as a quarter of a register's
// multiply-add, or as three of them when the image is split into phases.
inline bool is_for_pixels(const Convolved& all, const Walk& strips, const Walk& pixels) {
  const kernels::Table& table = kernels::kernels().table;
  constexpr std::int64_t kWritten = 16, kMostPixels = 65536;
  const auto width = static_cast<std::int64_t>(table.width);
  const auto whole = [&](std::int64_t count) { return (count + width - 1) / width * width; };
  const std::int64_t channels = all.group_out(), results = all.y.out * all.x.out;
  if (channels < static_cast<std::int64_t>(table.min_pixel_channels) || results > kMostPixels) return false;
  const auto copied = [&](const Walk& walk) {
    const double each = walk.y.step * walk.x.step == 1 ? 0.25 : 3;
    return walk.copies ? each * static_cast<double>(width * walk.elements(all.group_in())) : 0.0;
  };
  const std::int64_t columns = strips.row == all.x.out ? whole(results) : all.y.out * whole(all.x.out);
  const double by_strips = static_cast<double>(columns * channels * all.taps()) + copied(strips);
  const double by_pixels =
      static_cast<double>(results * whole(channels) * (all.taps() + kWritten)) + copied(pixels);
  return by_pixels < by_strips;
}

// The number of strips whose part of the image stays in the cache while all channels are computed for them; 0
// where all of the image does. On Zen 2, whose L2 cache has 512 KiB, blocks of 64 KiB made 1x1 convolutions
// on 56x56 1.08 times as fast, and 256->256 3x3 on 14x14 1.05 times; blocks of 128 and 256 KiB gained no
// more.
inline std::size_t strips_of_block(const ConvolutionStep& step, std::int64_t elements) {
  constexpr std::int64_t kBlock = 16384;  // elements
  const auto strips = static_cast<std::int64_t>(step.shape.strips);
  const std::int64_t count = std::min(elements / kBlock, strips), whole = 12;  // tiles of both kernels
  if (count <= 2) return 0;
  return static_cast<std::size_t>((strips / count + whole - 1) / whole * whole);
}

// Chooses the kernel and how it walks over one group of an image. Returns the number of elements of the
// padded copy, 0 where there is none; nothing where they are too many for offsets of 32 bits.
inline std::optional<std::int64_t> shape_walk(const Convolved& all, ConvolutionStep& step) {
  const Axis &y = all.y, &x = all.x;
  const Walk strips = walk_by_strips(all), pixels = walk_by_pixels(all);
  step.weight.by_pixels = is_for_pixels(all, strips, pixels);
  const Walk& walk = step.weight.by_pixels ? pixels : strips;
  const std::int64_t channels = all.group_in(), elements = walk.elements(channels);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (elements >= kMost || all.out.count() >= kMost) return std::nullopt;
  if (step.weight.by_pixels) {
    list_pixels(step, y, x, walk.row);
  } else {
    cut_strips(step, y.out, x.out, walk.row);
  }
  step.offsets = offsets_of_taps(channels, y, x, [&](std::int64_t c, std::int64_t i, std::int64_t j) {
    if (step.weight.by_pixels || !walk.copies) return c * walk.channel + i * walk.row + j;
    const std::int64_t of_phase = (c * y.step + i % y.step) * x.step + j % x.step;
    return (of_phase * walk.rows + i / y.step) * walk.row + j / x.step;
  });
  step.shape.block = strips_of_block(step, elements);
  step.pads = walk.copies;
  if (!walk.copies) return 0;
  step.padding = walk.padding(all);
  return elements;
}

// Where oneDNN is faster on one thread: LibTorch's time over ours (./dev bench convolutions, Zen 3, channels
// last): 16->32 3x3 on 28x28 1.4 to 1.6, 512->512 3x3 on 7x7 2.7 to 3.0, 3->64 7x7 on 112x112 1.2, but 8
// images of the first 0.8 to 0.95, 64->64 3x3 on 56x56 0.4 to 0.75, 1x1 of 200,000 elements and more 0.3
// to 1.
inline bool is_left_to_libtorch(const Convolved& all) {
  if (all.out.is_contiguous()) return false;
  // Without a window it is a product, to which channels that lie last are welcome. A window on each channel
  // does little between the two copies; and of a picture's channels there are too few for oneDNN's blocks.
  const bool has_window = all.y.kernel * all.x.kernel != 1;
  const bool is_picture = has_window && all.groups == 1 && all.group_in() <= 3;
  const std::int64_t most = !has_window ? 16384 : all.group_in() == 1 ? 32768 : 65536;
  return !is_picture && all.in.count() + all.out.count() > most;
}

inline bool convolve(Lowering& lowering, const TracedNode& node, const ConvolutionArguments& arguments) {
  auto read = read_convolution(lowering, node, arguments);
  if (!read) return false;
  Convolved& all = *read;
  if (convolve_dequantized(lowering, node, all)) return true;
  if (is_left_to_libtorch(all)) return false;
  if (all.out.count() == 0) return true;
  if (all.taps() == 0 || is_beyond_one_thread(lowering, all.work(), kMostConvolved) ||
      !lowering.make_rows(all.in))
    return false;
  const Operand out = lowering.made_contiguous(all.out);
  ConvolutionStep step;
  const auto padded = shape_walk(all, step);
  if (!padded) return false;
  step.shape.channels = static_cast<std::size_t>(all.group_out());
  step.shape.taps = static_cast<std::size_t>(all.taps());
  step.shape.out_channel = all.y.out * all.x.out;
  step.images_of = all.in.rank() == 4 ? all.in.size(0) : Size(1);
  step.images = static_cast<std::size_t>(step.images_of.recorded());
  step.groups = static_cast<std::size_t>(all.groups);
  step.in_image = all.in.rank() == 4 ? all.in.stride(0).pin() : 0;
  step.in_group = all.group_in() * all.in.stride(-3).pin();
  step.out_group = all.group_out() * step.shape.out_channel;
  step.out_image = all.groups * step.out_group;
  step.weight.data = lowering.constant_data(all.weight);
  step.weight.groups = step.groups;
  step.weight.channels = step.shape.channels;
  step.weight.taps = step.shape.taps;
  step.weight.of_module = lowering.of_module(all.weight);
  if (is_for_threads(lowering, all.work())) {
    step.images_of.pin();
    step.cut(static_cast<std::size_t>(lowering.threads()),
             static_cast<std::size_t>(all.group_in() * all.y.in * all.x.in));
  }
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

}  // namespace sr::replay::lower
