// What the steps that convolve 8-bit integers have in common: what becomes of the sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/convolution/behind_sums.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/image_accesses.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/workspace.hpp>

namespace sr::replay {

struct Int8ImageStep : Payload {
  // True if the kernel does all that `finish` says. Else it writes floats that are bounded below only.
  bool finishes = false;
  kernels::Int8Finish finish;                    // without addresses
  std::size_t channels = 0;                      // of the result
  std::ptrdiff_t out_rows = 0, out_columns = 0;  // of an image
  std::ptrdiff_t band_rows = 1;                  // that are computed together
  std::int64_t in_image = 0, in_extent = 0;      // distance of images; elements from the first to the last
  std::ptrdiff_t out_image = 0, out_channel = 0, out_pixel = 0;  // distances in elements
  Size images_of;
  std::size_t images = 0;                            // in this call
  std::int64_t work_of_image = 0, least_shared = 0;  // multiply-adds
  Address in, out, factor, bias, added, scratch;
  bool has_bias = false;
  BehindSums behind;  // applied after the kernel; only to results in NHWC
  Int8Taps weight;
  std::shared_ptr<const Aligned<std::uint8_t>> packed;  // `weight`
  Shares shares;

  std::string_view name() const override { return "int8 convolution"; }
  bool has_small_weights() const override { return true; }
  void pack_weights(PackedWeights& shared) override { packed = shared.find_or_pack(weight); }
  const void* packed_from() const override { return weight.data; }
  Shares* shared_work() override { return &shares; }

  bool list_accesses(ImageAccesses& accesses) const override {
    accesses.images = images_of;
    accesses.add(in, in_extent, in_image, /*writes=*/false, 1);
    const std::int64_t extent = has_channels_last()
                                    ? (pixels() - 1) * out_pixel + static_cast<std::int64_t>(channels)
                                    : static_cast<std::int64_t>(channels) * pixels();
    accesses.add(out, extent, out_image, /*writes=*/true, result_bytes());
    if (adds()) accesses.add(added, extent, out_image, /*writes=*/false, added_bytes());
    accesses.convolves = true;
    accesses.weight_bytes = weight.channels * weight.in_channels * weight.taps;
    return true;
  }
  void keep_one_image() override { images_of = 1; }

  Size results() const { return images_of * channels * pixels(); }
  // True if the channels of a pixel lie next to each other in the result.
  bool has_channels_last() const { return out_channel == 1; }
  bool adds() const { return finish.kind != kernels::Int8Finish::Added::none; }
  bool writes_bytes() const { return behind.writes_bytes() || finish.to_bytes; }
  // True if nothing is done to the sums yet but adding the bias and another image.
  bool is_unbounded() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return behind.is_nothing() && !finish.to_bytes && finish.least == -kInfinity && finish.most == kInfinity;
  }
  std::int64_t pixels() const { return out_rows * out_columns; }
  // The most rows of a band.
  virtual std::ptrdiff_t most_rows() const = 0;
  // Returns how many floats of scratch memory a thread needs to compute a band of most_rows() rows.
  virtual std::int64_t scratch_floats() const = 0;

  RunStep settle(SizeValues& values) override {
    images = values.count(images_of);
    const auto count = static_cast<std::int64_t>(images), work = count * work_of_image;
    band_rows = most_rows();
    const int threads = work < least_shared || shares.is_alone() ? 1 : intra_op_threads();
    if (threads > 1) {
      constexpr std::ptrdiff_t kPartsOfThread = 4;
      const std::ptrdiff_t of_image = std::max<std::ptrdiff_t>(kPartsOfThread * threads / count, 1);
      band_rows = std::min(band_rows, (out_rows + of_image - 1) / of_image);
    }
    shares.set(threads > 1 ? count * bands() : 0, static_cast<double>(work));
    return shares.count() > 1 ? &run_shared : &run;
  }
  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8ImageStep&>(payload);
    self.convolve_bands(context, 0, static_cast<std::int64_t>(self.images) * self.bands(),
                        self.scratch.in<float>(context.bases));
  }
  static void run_shared(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8ImageStep&>(payload);
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      const auto floats = static_cast<std::size_t>(self.scratch_floats());
      self.convolve_bands(context, first, end, Workspace::of_thread().floats(floats));
    });
  }

  bool activate(const Activation& activation, const Size& count, const Address& made,
                const Address& to) override {
    if (!has_channels_last() || writes_bytes() || out != made || !Size::always_equal(results(), count))
      return false;
    behind.activations.push_back(activation);
    out = to;
    return true;
  }

  // Makes the step write 8-bit integers instead of floats. Quantization then is the kernel's, if possible.
  void write_bytes(kernels::Convert convert, bool is_signed) {
    const auto quantization =
        finishes ? Quantization::of(behind.activations, is_signed) : std::optional<Quantization>();
    if (!quantization) return behind.write_bytes(convert, is_signed);
    // Quantization never reverses an order, so that the bounds before it are bounds behind it.
    const float least = (*quantization)(finish.least), most = (*quantization)(finish.most);
    quantization->set(finish, is_signed);
    finish.least = least;
    finish.most = most;
    behind.activations.clear();
  }

 protected:
  // Computes `count` rows of an image, at most most_rows(). `memory` has scratch_floats() floats.
  virtual void convolve_band(std::byte* const* bases, std::int64_t image, std::ptrdiff_t first,
                             std::ptrdiff_t count, float* memory) const = 0;

  // True if results are floats in a block of memory first.
  bool needs_block() const { return !has_channels_last() || behind.writes_bytes(); }

  // Calls kernel(finish) to compute `count` pixels of an image, from pixel `first` on. Then applies the
  // operations that the kernel does not apply. If needs_block(), `block` must have room for one float for
  // each result.
  template <class Kernel>
  void write(std::byte* const* bases, std::int64_t image, std::ptrdiff_t first, std::size_t count,
             float* block, Kernel kernel) const {
    const std::ptrdiff_t at = image * out_image + first * out_pixel;
    std::byte* const to = out.in(bases) + at * static_cast<std::ptrdiff_t>(result_bytes());
    kernels::Int8Finish own = finish;
    own.factor = factor.in<const float>(bases);
    if (has_bias) own.bias = bias.in<const float>(bases);
    if (adds()) own.added = added.in(bases) + at * static_cast<std::ptrdiff_t>(added_bytes());
    own.out = to;
    own.out_pixel = out_pixel;
    if (needs_block()) {
      own.out = block;
      own.out_pixel = static_cast<std::ptrdiff_t>(channels);
    }
    kernel(own);
    if (!has_channels_last()) return copy_to_planes(block, count, to);
    if (behind.is_nothing()) return;
    // Runs of adjacent results.
    const bool is_dense = out_pixel == static_cast<std::ptrdiff_t>(channels);
    const std::size_t runs = is_dense ? 1 : count, run = count * channels / runs;
    for (std::size_t i = 0; i < runs; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i);
      behind.run(run, static_cast<float*>(own.out) + row * own.out_pixel, to + row * out_pixel);
    }
  }

 private:
  std::ptrdiff_t bands() const { return (out_rows + band_rows - 1) / band_rows; }
  // The bands `first` to `end` - 1 of all images.
  void convolve_bands(const Context& context, std::int64_t first, std::int64_t end, float* memory) const {
    for (; first < end; ++first) {
      const std::ptrdiff_t row = first % bands() * band_rows;
      convolve_band(context.bases, first / bands(), row, std::min(band_rows, out_rows - row), memory);
    }
  }
  std::size_t result_bytes() const { return writes_bytes() ? 1 : sizeof(float); }
  std::size_t added_bytes() const {
    return finish.kind == kernels::Int8Finish::Added::floats ? sizeof(float) : 1;
  }
  void copy_to_planes(const float* block, std::size_t count, std::byte* to) const {
    const auto all = static_cast<std::int64_t>(channels);
    const kernels::StridedCopy copy{.rank = 2,
                                    .width = sizeof(float),
                                    .sizes = {all, static_cast<std::int64_t>(count)},
                                    .in_strides = {1, all},
                                    .out_strides = {out_channel, out_pixel}};
    kernels::kernels().table.copy(copy, block, to);
  }
};

}  // namespace sr::replay
