// Convolutions with constant weights in fp32.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/convolution/convolved.hpp>
#include <sr/ops/convolution/int8_lowering.hpp>
#include <sr/ops/convolution/int8_step.hpp>
#include <sr/ops/convolution/named_padding.hpp>
#include <sr/ops/convolution/steps.hpp>
#include <sr/ops/convolution/tap_regions.hpp>
#include <sr/ops/convolution/walks.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// The number of strips whose part of the image stays in the cache while all channels are computed for them; 0
// where all of the image does. On Zen 2, whose L2 cache has 512 KiB, blocks of 64 KiB made 1x1 convolutions
// on 56x56 1.08 times as fast, and 256->256 3x3 on 14x14 1.05 times; blocks of 128 and 256 KiB gained no
// more. Each block reads all weights, so that blocks are larger where weights come from further away: on Ice
// Lake, 1024->2048 1x1 with step 2 on 14x14 is 2.3 times as fast without blocks.
inline std::size_t strips_of_block(const ConvolutionStep& step, std::int64_t elements, std::int64_t weights) {
  constexpr std::int64_t kMostKept = 196608;  // weights that stay in the second-level cache
  const std::int64_t in_block = weights <= kMostKept ? 16384 : 262144;  // elements
  const auto strips = static_cast<std::int64_t>(step.shape.strips);
  const std::int64_t count = std::min(elements / in_block, strips), whole = 12;  // tiles of both kernels
  if (count <= 2) return 0;
  return static_cast<std::size_t>((strips / count + whole - 1) / whole * whole);
}

// Chooses the kernel and how it walks over one group of an image. Returns the number of elements of the
// padded copy, 0 where there is none; nothing where they are too many for offsets of 32 bits.
inline std::optional<std::int64_t> shape_walk(const Convolved& all, const Lasts& last,
                                              ConvolutionStep& step) {
  const bool is_of_pixels = last.any() || is_for_pixels(all);
  const bool by_regions = last.in && last.out && !last.is_depthwise && is_for_regions(all);
  const Walk walk = is_of_pixels ? walk_by_pixels(all, last.in, by_regions) : walk_by_strips(all);
  const std::int64_t channels = all.group_in(), elements = walk.elements(channels);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t distance = last.out ? pixel_distance(all.out) : 1;
  if (elements >= kMost || all.out.count() >= kMost || distance * all.y.out * all.x.out >= kMost)
    return std::nullopt;
  step.weight.by_pixels = is_of_pixels;
  step.weight.is_narrow = is_of_pixels && !last.is_depthwise && fits_narrower(all);
  const kernels::Table& table = step.weight.table();
  if (last.in) step.weight.inner = static_cast<std::size_t>(all.group_in());
  if (last.is_depthwise && is_for_rows(all)) {
    list_rows(step, all);
    step.multiply = table.convolve_depthwise_rows;
    return 0;
  }
  if (by_regions) {
    list_regions(step, walk, all, distance);
    step.multiply = table.convolve_pixels;
  } else if (is_of_pixels) {
    list_pixels(step, walk, all, distance);
    step.multiply = last.is_depthwise ? table.convolve_depthwise : table.convolve_pixels;
  } else {
    cut_strips(step, all.y.out, all.x.out, walk.row);
    step.multiply = table.convolve;
  }
  step.offsets = offsets_of_taps(walk, all);
  step.shape.block = strips_of_block(step, elements, all.group_out() * all.taps());
  step.pads = walk.copies;
  step.pads_all_groups = walk.copies && last.in;
  if (!walk.copies) return 0;
  step.padding = walk.padding(all);
  return elements;
}

// Where oneDNN is faster than our kernel between two copies. Measured on Zen 3 (./dev bench convolutions),
// before other kernels read and wrote channels that lie last: LibTorch's time over ours was 1.4 to 1.6 for
// 16->32, 3x3 on 28x28, but 0.4 to 0.75 for 64->64, 3x3 on 56x56, and 0.3 to 1 for 1x1 of 200,000 elements
// and more.
inline bool is_left_to_libtorch(const Convolved& all) {
  if (all.out.is_contiguous()) return false;
  // Without a window it is a product, to which channels that lie last are welcome. A window on each channel
  // does little between the two copies; and of a picture's channels there are too few for oneDNN's blocks.
  const bool has_window = all.y.kernel * all.x.kernel != 1;
  const bool is_picture = has_window && all.groups == 1 && all.group_in() <= 3;
  const std::int64_t most = !has_window ? 16384 : all.group_in() == 1 ? 32768 : 65536;
  return !is_picture && all.in.count() + all.out.count() > most;
}

// Sets the numbers of channels and taps of the step, and the distances between groups and between images.
inline void place_images(const Convolved& all, const Lasts& last, ConvolutionStep& step) {
  step.images_of = all.in.rank() == 4 ? all.in.size(0) : Size(1);
  step.images = static_cast<std::size_t>(step.images_of.recorded());
  step.pixels = all.y.out * all.x.out;
  // In the channels-last layout, a depthwise convolution is computed as one group with all channels.
  const std::int64_t channels = last.is_depthwise ? all.groups : all.group_out();
  step.groups = last.is_depthwise ? 1 : static_cast<std::size_t>(all.groups);
  step.in_channel = last.is_depthwise ? 1 : 0;
  step.shape.channels = static_cast<std::size_t>(channels);
  step.shape.taps = static_cast<std::size_t>(all.taps());
  step.shape.out_channel = last.out ? 1 : step.pixels;
  step.pixel_distance = last.out ? pixel_distance(all.out) : 0;
  step.in_image = all.in.rank() == 4 ? all.in.stride(0).pin() : 0;
  step.in_group = all.group_in() * (last.in ? 1 : all.in.stride(-3).pin());
  step.out_group = channels * step.shape.out_channel;
  const auto reaches = [](std::int64_t size, const Size& stride) { return (size - 1) * stride.pin(); };
  step.in_extent = reaches(all.groups * all.group_in(), all.in.stride(-3)) +
                   reaches(all.y.in, all.in.stride(-2)) + reaches(all.x.in, all.in.stride(-1)) + 1;
  const std::int64_t results = all.groups * all.group_out() * step.pixels;
  step.out_extent =
      last.out ? (step.pixels - 1) * step.pixel_distance + all.groups * all.group_out() : results;
  step.out_image = last.out && all.out.rank() == 4 ? all.out.stride(0).pin() : results;
  step.work_of_image = static_cast<std::size_t>(results * all.taps());
  step.read_by_group =
      static_cast<std::size_t>((last.is_depthwise ? all.groups : all.group_in()) * all.y.in * all.x.in);
}

inline bool convolve(Lowering& lowering, const TracedNode& node, const ConvolutionArguments& arguments) {
  auto read = read_convolution(lowering, node, arguments);
  if (!read) return false;
  Convolved& all = *read;
  if (convolve_dequantized(lowering, node, all)) return true;
  const Lasts last = lasts_of(all);
  if (!last.any() && is_left_to_libtorch(all)) return false;
  if (all.out.count() == 0) return true;
  if (all.taps() == 0 || !(last.in || lowering.make_rows(all.in))) return false;
  note_threads(lowering, all.work(), kLeastShared);
  const Operand out = last.out ? all.out : lowering.made_contiguous(all.out);
  ConvolutionStep step;
  const auto padded = shape_walk(all, last, step);
  if (!padded) return false;
  place_images(all, last, step);
  step.weight.data = lowering.constant_data(all.weight);
  step.weight.groups = step.groups;
  step.weight.channels = step.shape.channels;
  step.weight.taps = step.shape.taps;
  step.weight.of_module = lowering.of_module(all.weight);
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
    step.padded_count = *padded + width;
    const Operand copy = lowering.temporary({step.padded_count});
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

// conv1d, conv2d(input, weight, bias, stride, "valid" or "same", dilation, groups)
inline bool convolution_by_name(Lowering& lowering, const TracedNode& node) {
  const auto weight = lowering.input(node, 1);
  if (!weight || weight->rank() < 3) return false;
  const auto pads = named_padding(node.inputs[4].toStringRef(), node.inputs[5].toIntVector(),
                                  pinned(last_dims(*weight, 2).sizes));
  if (!pads) return false;
  const c10::IValue padding(*pads);
  return convolve(lowering, node, {node.inputs[3], padding, node.inputs[5], node.inputs[6].toInt()});
}

}  // namespace sr::replay::lower
