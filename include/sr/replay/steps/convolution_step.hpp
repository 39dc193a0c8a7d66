// The step that convolves images.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct ConvolutionStep final : ClonableStep<ConvolutionStep> {
  std::string_view name() const override { return "convolution"; }
  kernels::Convolution shape;  // of one group of one image
  void (*multiply)(const kernels::Convolution& shape) = nullptr;
  kernels::PaddedImage padding;
  std::vector<std::int32_t> offsets;
  std::vector<kernels::Strip> strips;
  WeightTaps weight;
  std::shared_ptr<const AlignedFloats> packed;
  bool pads = false, has_bias = false;
  Address in, padded, bias, out;
  Size images_of;
  std::size_t images = 0, groups = 0;                                     // `images` in this call
  std::int64_t pixels = 0;                                                // of the result
  std::int64_t in_image = 0, in_group = 0, out_image = 0, out_group = 0;  // distances in elements
  // From one channel of the image to the next if each gives a channel of the result; else 0.
  std::ptrdiff_t in_channel = 0;
  Shares shares;
  // What threads share: groups of images, or tiles of channels or runs of strips of each group.
  enum class Cut { groups, channels, strips };
  Cut cut_by = Cut::groups;
  std::int64_t padded_share = 0;  // elements of the padded copy, of which each share of groups has one

  // The number of results.
  Size results() const { return images_of * groups * shape.channels * pixels; }

  RunStep settle(SizeValues& values) override {
    images = values.count(images_of);
    return nullptr;
  }

  // Cuts a convolution that is too large for one thread into parts, whose results are bit-identical to those
  // of the whole. `read` is the number of elements of the image that a group reads.
  void cut(std::size_t threads, std::size_t read) {
    constexpr std::size_t kManyGroups = 4, kManyRuns = 8;  // so that threads get about the same
    const auto parts = [](std::size_t count, std::size_t each) { return (count + each - 1) / each; };
    const std::size_t tiles = parts(shape.channels, channel_tile()), runs = parts(shape.strips, kRun);
    std::size_t count = std::min(images * groups, threads);
    if (images * groups < kManyGroups) {
      // If threads share strips, each reads all weights. If they share channels, each reads the whole image.
      const bool has_small_weights = shape.channels * shape.taps <= read && runs >= kManyRuns;
      cut_by = has_small_weights || tiles == 1 ? Cut::strips : Cut::channels;
      count = cut_by == Cut::strips ? runs : tiles;
    }
    if (count > 1) shares.set(static_cast<std::int64_t>(count), 1);
  }
  // The smallest number of channels whose results are bit-identical when they are computed by themselves.
  std::size_t channel_tile() const {
    const kernels::Table& table = kernels::kernels().table;
    return weight.by_pixels ? 2 * table.width : table.tile;
  }
  // The number of padded copies that exist at once.
  std::int64_t copies() const {
    return cut_by == Cut::groups ? std::max<std::int64_t>(shares.count(), 1) : 1;
  }

  std::size_t vector_bytes() const { return bytes_of(offsets) + bytes_of(strips); }

  Shares* shared_work() override { return &shares; }

  void pack_weights(PackedWeights& shared) override { packed = shared.find_or_pack(weight); }
  const void* packed_from() const override { return weight.data; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ConvolutionStep&>(payload);
    const std::size_t all = self.images * self.groups;
    if (self.cut_by != Cut::groups || self.shares.count() == 0) return self.convolve(context, 0, all, 0);
    const auto count = static_cast<std::size_t>(self.shares.count());
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      for (auto share = static_cast<std::size_t>(first); share < static_cast<std::size_t>(end); ++share)
        self.convolve(context, share * all / count, (share + 1) * all / count, share);
    });
  }

 private:
  // Computes groups `first` to `end` - 1; the groups of an image are adjacent.
  void convolve(const Context& context, std::size_t first, std::size_t end, std::size_t share) const {
    kernels::Convolution one = shape;
    kernels::PaddedImage copy = padding;
    one.offsets = offsets.data();
    one.at = strips.data();
    const kernels::Table& table = kernels::kernels().table;
    if (pads) copy.to = padded.in<float>(context.bases) + static_cast<std::int64_t>(share) * padded_share;
    for (; first < end; ++first) {
      const auto image = static_cast<std::int64_t>(first / groups);
      const std::size_t group = first % groups;
      const auto g = static_cast<std::int64_t>(group);
      one.in = in.in<const float>(context.bases) + image * in_image + g * in_group;
      if (pads) {
        copy.from = one.in;
        table.pad_image(copy);
        one.in = copy.to;
      }
      one.weight = packed->data + group * weight.packed_share();
      if (has_bias) one.bias = bias.in<const float>(context.bases) + group * shape.channels;
      one.out = out.in<float>(context.bases) + image * out_image + g * out_group;
      if (cut_by == Cut::groups) {
        multiply(one);
      } else {
        convolve_in_parts(one);
      }
    }
  }

  void convolve_in_parts(const kernels::Convolution& all) const {
    shares.each([&](std::int64_t first, std::int64_t end) {
      const auto begin = static_cast<std::size_t>(first), stop = static_cast<std::size_t>(end);
      multiply(cut_by == Cut::channels ? some_channels(all, begin, stop) : some_strips(all, begin, stop));
    });
  }
  kernels::Convolution some_channels(kernels::Convolution some, std::size_t tile, std::size_t end) const {
    const std::size_t first = tile * channel_tile();
    some.channels = std::min(end * channel_tile(), some.channels) - first;
    some.weight += first * some.taps;
    some.in += static_cast<std::ptrdiff_t>(first) * in_channel;
    if (some.bias != nullptr) some.bias += first;
    some.out += static_cast<std::ptrdiff_t>(first) * some.out_channel;
    return some;
  }
  static kernels::Convolution some_strips(kernels::Convolution some, std::size_t run, std::size_t end) {
    const std::size_t first = run * kRun;
    some.strips = std::min(end * kRun, some.strips) - first;
    some.at += first;
    return some;
  }

  // Strips of a run: whole tiles of both kernels.
  static constexpr std::size_t kRun = 12;
};

}  // namespace sr::replay
