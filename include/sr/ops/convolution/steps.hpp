// The step that convolves images.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/convolution/behind_sums.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/image_accesses.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/workspace.hpp>

namespace sr::replay {

struct ConvolutionStep final : ClonableStep<ConvolutionStep> {
  std::string_view name() const override { return "convolution"; }
  kernels::Convolution shape;  // of one group of one image
  void (*multiply)(const kernels::Convolution& shape) = nullptr;
  kernels::PaddedImage padding;
  std::vector<std::int32_t> offsets;
  std::vector<kernels::Strip> strips;
  std::vector<kernels::TapRegion> regions;  // of the strips; without any, they add up all taps
  std::vector<kernels::TapRun> tap_runs;
  WeightTaps weight;
  std::shared_ptr<const AlignedFloats> packed;
  bool pads = false, has_bias = false, has_added = false;
  bool by_rows = false;          // strips are rows of the result
  bool pads_all_groups = false;  // in one copy, which the groups of an image read
  Address in, padded, bias, added, out;
  // What is done to the results after the clamps. If they become bytes, a block of them is computed as
  // block_count floats in `block_of_floats`, or in a Workspace if threads share the step.
  BehindSums behind;
  Address block_of_floats;
  std::int64_t block_count = 0;
  std::int64_t pixel_distance = 0;  // of results, if their channels lie last; else 0
  Size images_of;
  std::size_t images = 0, groups = 0;                                     // `images` in this call
  std::int64_t pixels = 0;                                                // of the result
  std::size_t work_of_image = 0;                                          // multiply-adds
  std::size_t read_by_group = 0;                                          // elements of the image
  std::int64_t in_image = 0, in_group = 0, out_image = 0, out_group = 0;  // distances in elements
  std::int64_t in_extent = 0, out_extent = 0;  // elements from the first of an image to behind the last
  // From one channel of the image to the next if each gives a channel of the result; else 0.
  std::ptrdiff_t in_channel = 0;
  Shares shares;
  // What threads share: groups of images, or tiles of channels or runs of strips of each group.
  enum class Cut { groups, channels, strips };
  Cut cut_by = Cut::groups;
  // Elements of the padded copy of one group, or of all. Each thread of a shared run has a copy in its
  // Workspace.
  std::int64_t padded_count = 0;

  // True if the sums are clamped or activated already, so that nothing can be added to them any more.
  bool is_finished() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return shape.clamp_min != -kInfinity || shape.clamp_max != kInfinity || !behind.is_nothing();
  }

  bool activate(const Activation& activation, const Size& count, const Address& made,
                const Address& to) override {
    if (pixel_distance == 0 || behind.writes_bytes() || out != made || !Size::always_equal(results(), count))
      return false;
    behind.activations.push_back(activation);
    out = to;
    return true;
  }

  // True if the results lie in the order of the strips, so that blocks of them can be converted.
  bool may_convert() const {
    return !behind.writes_bytes() && regions.empty() &&
           static_cast<std::size_t>(pixel_distance) == shape.channels;
  }
  // The floats of a block of results.
  std::int64_t results_of_block() const {
    return static_cast<std::int64_t>(std::min(strips_of_block(), shape.strips) * shape.strip_width *
                                     shape.channels);
  }

  // The number of results.
  Size results() const { return images_of * groups * shape.channels * pixels; }

  RunStep settle(SizeValues& values) override {
    images = values.count(images_of);
    const std::size_t work = images * work_of_image;
    shares.set(work >= kLeastShared ? static_cast<std::int64_t>(cut()) : 0, static_cast<double>(work));
    return shares.count() > 1 && cut_by == Cut::groups ? &run_shared : &run;
  }

  bool list_accesses(ImageAccesses& images_in) const override {
    images_in.images = images_of;
    images_in.add(in, in_extent, in_image, /*writes=*/false);
    images_in.add(out, out_extent, out_image, /*writes=*/true, behind.writes_bytes() ? 1 : sizeof(float));
    if (has_added) images_in.add(added, out_extent, out_image, /*writes=*/false);
    images_in.convolves = true;
    images_in.weight_bytes = groups * weight.packed_share() * sizeof(float);
    return true;
  }
  void keep_one_image() override { images_of = 1; }

  std::size_t vector_bytes() const {
    return bytes_of(offsets) + bytes_of(strips) + bytes_of(regions) + bytes_of(tap_runs);
  }

  Shares* shared_work() override { return &shares; }

  void pack_weights(PackedWeights& shared) override { packed = shared.find_or_pack(weight); }
  const void* packed_from() const override { return weight.data; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ConvolutionStep&>(payload);
    float* const copy = self.pads ? self.padded.in<float>(context.bases) : nullptr;
    float* const block = self.behind.writes_bytes() ? self.block_of_floats.in<float>(context.bases) : nullptr;
    self.convolve(context, 0, self.images * self.groups, copy, block);
  }
  static void run_shared(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ConvolutionStep&>(payload);
    const std::size_t all = self.images * self.groups;
    const auto count = static_cast<std::size_t>(self.shares.count());
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      const auto floats = static_cast<std::size_t>(self.padded_count);
      float* const copy = Workspace::of_thread().floats(floats + static_cast<std::size_t>(self.block_count));
      self.convolve(context, static_cast<std::size_t>(first) * all / count,
                    static_cast<std::size_t>(end) * all / count, copy, copy + floats);
    });
  }

 private:
  // Chooses how the threads divide the work, and returns the number of parts. The results are bit-identical
  // to those of one thread.
  std::size_t cut() {
    constexpr std::size_t kManyGroups = 4, kManyRuns = 8;  // so that threads get about the same
    constexpr std::size_t kPartsOfThread = 4;
    const std::size_t all = images * groups;
    if (all >= kManyGroups) {
      cut_by = Cut::groups;
      return std::min(all, kPartsOfThread * static_cast<std::size_t>(intra_op_threads()));
    }
    const auto parts = [](std::size_t count, std::size_t each) { return (count + each - 1) / each; };
    const std::size_t tiles = parts(shape.channels, channel_tile()),
                      runs = parts(shape.strips, strips_of_run());
    // If threads share strips, each reads all weights. If they share channels, each reads the whole image.
    const bool has_small_weights = shape.channels * shape.taps <= read_by_group && runs >= kManyRuns;
    cut_by = has_small_weights || tiles == 1 ? Cut::strips : Cut::channels;
    return cut_by == Cut::strips ? runs : tiles;
  }
  // The smallest number of channels that a part may have so that its results stay bit-identical.
  std::size_t channel_tile() const {
    const kernels::Table& table = weight.table();
    return weight.by_pixels ? 2 * table.width : table.tile;
  }

  // Computes groups `first` to `end` - 1; the groups of an image are adjacent. `padded_copy` has memory for
  // one padded copy, and `memory` for a block of results.
  void convolve(const Context& context, std::size_t first, std::size_t end, float* padded_copy,
                float* memory) const {
    kernels::Convolution one = shape;
    kernels::PaddedImage copy = padding;
    one.offsets = offsets.data();
    one.at = strips.data();
    if (!regions.empty()) one.regions = regions.data();
    one.runs = tap_runs.data();
    const kernels::Table& table = kernels::kernels().table;
    copy.to = padded_copy;
    for (std::size_t next = first; next < end; ++next) {
      const auto image = static_cast<std::int64_t>(next / groups);
      const std::size_t group = next % groups;
      const auto g = static_cast<std::int64_t>(group);
      one.in = in.in<const float>(context.bases) + image * in_image;
      if (pads_all_groups) {
        copy.from = one.in;
        if (group == 0 || next == first) table.pad_image(copy);
        one.in = copy.to;
      }
      one.in += g * in_group;
      if (pads && !pads_all_groups) {
        copy.from = one.in;
        table.pad_image(copy);
        one.in = copy.to;
      }
      one.weight = packed->data + group * weight.packed_share();
      if (has_bias) one.bias = bias.in<const float>(context.bases) + group * shape.channels;
      const std::int64_t begin = image * out_image + g * out_group;
      if (has_added) one.added = added.in<const float>(context.bases) + begin;
      one.out = behind.writes_bytes() ? memory : out.in<float>(context.bases) + begin;
      std::byte* const converted = out.in(context.bases) + begin;
      if (cut_by == Cut::groups || shares.count() < 2) {
        convolve_and_finish(one, converted);
      } else {
        convolve_in_parts(one, converted);
      }
    }
  }

  void convolve_in_parts(const kernels::Convolution& all, std::byte* converted) const {
    shares.each([&](std::int64_t first, std::int64_t end) {
      const auto begin = static_cast<std::size_t>(first), stop = static_cast<std::size_t>(end);
      kernels::Convolution own = all;
      if (behind.writes_bytes())
        own.out = Workspace::of_thread().floats(static_cast<std::size_t>(block_count));
      const kernels::Convolution part =
          cut_by == Cut::channels ? some_channels(own, begin, stop) : some_runs(own, begin, stop);
      convolve_and_finish(part, converted + (part.out - own.out));
    });
  }

  // What is behind the sums is done block by block, before they leave the cache. If bytes are written,
  // `converted` is where the first result of all strips goes.
  void convolve_and_finish(const kernels::Convolution& all, std::byte* converted) const {
    if (behind.is_nothing()) return multiply(all);
    const std::size_t most = strips_of_block();
    for (std::size_t first = 0; first < all.strips; first += most) {
      kernels::Convolution part = some_strips(all, first, std::min(first + most, all.strips));
      part.block = 0;
      if (behind.writes_bytes()) part.out -= part.at[0].out;
      multiply(part);
      finish_strips(part, converted);
    }
  }
  std::size_t strips_of_block() const {
    constexpr std::size_t kResults = 16384, kLeastPixels = 48;
    const std::size_t wanted = std::max(kLeastPixels, kResults / shape.channels), run = strips_of_run();
    return std::max(run, wanted / shape.strip_width / run * run);
  }
  void finish_strips(const kernels::Convolution& block, std::byte* converted) const {
    const auto distance = static_cast<std::size_t>(pixel_distance);
    for (std::size_t first = 0, end = 0; first < block.strips; first = end) {
      std::size_t adjacent = 0;  // up to a strip that does not follow in memory
      const std::ptrdiff_t at = block.at[first].out;
      do {
        adjacent += block.strip_width;
      } while (++end < block.strips &&
               block.at[end].out == at + static_cast<std::ptrdiff_t>(adjacent * distance));
      const std::size_t runs = distance == block.channels ? 1 : adjacent;
      for (std::size_t i = 0; i < runs; ++i) {
        const std::ptrdiff_t from = at + static_cast<std::ptrdiff_t>(i * distance);
        behind.run(adjacent * block.channels / runs, block.out + from, converted + from);
      }
    }
  }
  kernels::Convolution some_channels(kernels::Convolution some, std::size_t tile, std::size_t end) const {
    const std::size_t first = tile * channel_tile();
    some.channels = std::min(end * channel_tile(), some.channels) - first;
    some.weight += first * some.taps;
    some.in += static_cast<std::ptrdiff_t>(first) * in_channel;
    if (some.bias != nullptr) some.bias += first;
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(first) * some.out_channel;
    if (some.added != nullptr) some.added += begin;
    some.out += begin;
    return some;
  }
  kernels::Convolution some_runs(const kernels::Convolution& all, std::size_t run, std::size_t end) const {
    return some_strips(all, run * strips_of_run(), std::min(end * strips_of_run(), all.strips));
  }
  static kernels::Convolution some_strips(kernels::Convolution some, std::size_t first, std::size_t end) {
    some.at += first;
    some.first_strip += first;
    some.strips = end - first;
    return some;
  }

  // Whole tiles of the kernels, or a row.
  std::size_t strips_of_run() const { return by_rows ? 1 : 12; }
};

}  // namespace sr::replay
