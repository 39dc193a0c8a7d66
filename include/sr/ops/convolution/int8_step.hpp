// The step that convolves images of 8-bit integers, as products of their windows and the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/activations.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/workspace.hpp>

namespace sr::replay {

// The result is computed in bands of rows. For each band, the step
//  1. copies the rows of the image that the band needs, padded, in NHWC layout, unless the windows are rows
//  of
//     the image as it lies;
//  2. copies the windows of some pixels from there, each to one row of a matrix (im2col);
//  3. multiplies this matrix by the weights, applies the activations, converts to 8-bit integers if that is
//     asked for, and writes the result.
// Sums are exact, so results do not depend on the bands.
struct Int8ConvolutionStep final : ClonableStep<Int8ConvolutionStep> {
  kernels::Axis y, x;
  std::size_t in_channels = 0;
  std::uint8_t padding = 0;  // the zero point, as a byte of the image's type
  std::ptrdiff_t in_image = 0, in_channel = 0, in_row = 0, in_column = 0;  // distances in elements
  std::ptrdiff_t out_image = 0, out_channel = 0, out_pixel = 0;
  Size images_of;
  std::size_t images = 0;                            // in this call
  std::int64_t work_of_image = 0, least_shared = 0;  // multiply-adds
  Address in, out, zero, image_factor, channel_factor, bias, scratch;
  bool has_zero = false, has_bias = false;
  void (*multiply)(const kernels::Int8Gemm& product) = nullptr;
  Int8Taps weight;
  std::shared_ptr<const Aligned<std::uint8_t>> packed;  // `weight`
  kernels::Int8Gemm shape;                              // of all windows of a band
  std::ptrdiff_t band_rows = 1;                         // of the result
  Shares shares;
  Activations activations;             // of results whose channels lie last
  kernels::Convert convert = nullptr;  // of the results, to 8-bit integers; null: they are floats

  std::string_view name() const override { return "int8 convolution"; }
  bool has_small_weights() const override { return true; }

  Size results() const { return images_of * shape.n * y.out * x.out; }

  bool activate(const Activation& activation, const Size& count, const Address& made,
                const Address& to) override {
    if (!has_channels_last() || convert != nullptr || out != made || !Size::always_equal(results(), count))
      return false;
    activations.push_back(activation);
    out = to;
    return true;
  }
  // True if the channels of a pixel lie next to each other in the result.
  bool has_channels_last() const { return out_channel == 1; }

  void pack_weights(PackedWeights& shared) override { packed = shared.find_or_pack(weight); }
  const void* packed_from() const override { return weight.data; }

  Shares* shared_work() override { return &shares; }

  RunStep settle(SizeValues& values) override {
    images = values.count(images_of);
    const auto count = static_cast<std::int64_t>(images), work = count * work_of_image;
    band_rows = rows_of_one_thread();
    if (work < least_shared || intra_op_threads() == 1) {
      shares.set(0, 1);
      return &run;
    }
    constexpr std::ptrdiff_t kPartsOfThread = 4;
    const std::ptrdiff_t bands_of_image =
        std::max<std::ptrdiff_t>(kPartsOfThread * intra_op_threads() / count, 1);
    band_rows = std::min(band_rows, (y.out + bands_of_image - 1) / bands_of_image);
    shares.set(count * bands(), static_cast<double>(work));
    return &run_shared;
  }

  // The rows of a band if one thread computes the convolution. `scratch` has memory for one such band.
  std::ptrdiff_t rows_of_one_thread() const {
    return std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(kPixels) / x.out, 1, y.out);
  }
  // The floats of memory that a band needs.
  std::int64_t scratch_floats() const {
    return static_cast<std::int64_t>((image_bytes() + window_bytes()) / sizeof(float) +
                                     (is_in_place() ? 0 : most_pixels() * shape.n));
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8ConvolutionStep&>(payload);
    const std::int64_t parts = static_cast<std::int64_t>(self.images) * self.bands();
    auto* const memory = self.scratch.in<float>(context.bases);
    for (std::int64_t part = 0; part < parts; ++part) self.convolve_band(context, part, memory);
  }
  static void run_shared(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8ConvolutionStep&>(payload);
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      float* const memory = Workspace::of_thread().floats(static_cast<std::size_t>(self.scratch_floats()));
      for (; first < end; ++first) self.convolve_band(context, first, memory);
    });
  }

 private:
  static constexpr std::size_t kPixels = 256;  // of a band, unless a row has more
  static constexpr std::size_t kChunk = 32;    // bytes that are copied at once, so copies may be longer

  static std::size_t reach(const kernels::Axis& axis) {
    return static_cast<std::size_t>((axis.kernel - 1) * axis.dilation);
  }
  static std::size_t whole(std::size_t bytes) { return (bytes + 2 * kChunk - 1) / kChunk * kChunk; }

  std::ptrdiff_t bands() const { return (y.out + band_rows - 1) / band_rows; }
  // The size of the padded copy.
  std::size_t width() const { return static_cast<std::size_t>((x.out - 1) * x.step) + reach(x) + 1; }
  std::size_t height(std::ptrdiff_t rows) const {
    return static_cast<std::size_t>((rows - 1) * y.step) + reach(y) + 1;
  }
  std::size_t row_bytes() const { return width() * in_channels; }
  std::size_t image_bytes() const { return reads_image() ? 0 : whole(height(band_rows) * row_bytes()); }

  // True if the windows of a row of the result are rows of a matrix as they lie in the padded copy, which may
  // overlap; and whether those of all rows are.
  bool has_windows_in_rows() const { return y.kernel == 1 && (x.kernel == 1 || x.dilation == 1); }
  bool has_windows_in_place() const { return has_windows_in_rows() && x.kernel == 1 && x.step * y.step == 1; }
  // True if the product is written where the result lies.
  bool is_in_place() const { return has_channels_last() && convert == nullptr; }

  // True if the windows are read where they lie in the image.
  bool reads_image() const {
    return y.pad == 0 && x.pad == 0 && in_channel == 1 && has_windows_in_rows() &&
           in_column == static_cast<std::ptrdiff_t>(in_channels);
  }

  // The number of pixels that are multiplied together. More of them read the weights less often, but the
  // windows have to stay in the cache.
  std::size_t most_pixels() const {
    constexpr std::size_t kMostBytes = std::size_t{1} << 18, kLeast = 16, kActivated = 16384;
    // Activations find results in the cache.
    const std::size_t activated = activations.empty() ? kPixels : std::max(kActivated / shape.n, kLeast);
    const auto in_band = std::min({static_cast<std::size_t>(band_rows * x.out), kPixels, activated});
    return std::min(in_band, std::max(kMostBytes / shape.k, kLeast));
  }
  std::size_t window_bytes() const { return has_windows_in_rows() ? 0 : whole(most_pixels() * shape.k); }

  static void copy_run(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) {
    for (std::size_t i = 0; i < bytes; i += kChunk) std::memcpy(to + i, from + i, kChunk);
  }

  // The padded image, or a part of it. Pixels of a row are next to each other.
  struct Rows {
    const std::uint8_t* begin;
    std::ptrdiff_t distance;  // of rows
  };

  // Part number `part` of all images.
  void convolve_band(const Context& context, std::int64_t part, float* memory) const {
    const std::ptrdiff_t image = part / bands(), first = part % bands() * band_rows;
    const std::ptrdiff_t end = std::min(first + band_rows, y.out);
    auto* const copy = reinterpret_cast<std::uint8_t*>(memory);
    const std::uint8_t* const from = in.in<const std::uint8_t>(context.bases) + image * in_image;
    Rows rows{copy, static_cast<std::ptrdiff_t>(row_bytes())};
    if (reads_image()) {
      rows = {from + first * y.step * in_row, in_row};
    } else {
      copy_rows(from, first, end, copy);
    }
    std::uint8_t* const windows = copy + image_bytes();
    auto* const results = reinterpret_cast<float*>(windows + window_bytes());
    const std::ptrdiff_t element = convert == nullptr ? sizeof(float) : 1;
    std::byte* const to = out.in(context.bases) + image * out_image * element;
    kernels::Int8Gemm product = bound(context.bases);
    const std::ptrdiff_t pixels = (end - first) * x.out;
    const bool by_rows =
        has_windows_in_rows() &&
        !(has_windows_in_place() && rows.distance == x.out * static_cast<std::ptrdiff_t>(in_channels));
    const auto most = static_cast<std::ptrdiff_t>(most_pixels());
    for (std::ptrdiff_t pixel = 0; pixel < pixels;) {
      const std::ptrdiff_t left = by_rows ? x.out - pixel % x.out : pixels - pixel;
      const std::ptrdiff_t count = std::min(most, left);
      product.m = static_cast<std::size_t>(count);
      if (has_windows_in_rows()) {
        product.a = window(rows, pixel);
        product.a_row = x.step * static_cast<std::ptrdiff_t>(in_channels);
      } else {
        copy_windows(rows, pixel, count, windows);
        product.a = windows;
        product.a_row = static_cast<std::ptrdiff_t>(shape.k);
      }
      write(product, to + (first * x.out + pixel) * out_pixel * element, results);
      pixel += count;
    }
  }

  // The rows of the padded image for the rows `first` to `end` - 1 of the result.
  void copy_rows(const std::uint8_t* image, std::ptrdiff_t first, std::ptrdiff_t end,
                 std::uint8_t* to) const {
    const std::ptrdiff_t begin = first * y.step - y.pad;  // in the image
    const auto count = static_cast<std::ptrdiff_t>(height(end - first));
    const std::ptrdiff_t above = std::clamp<std::ptrdiff_t>(-begin, 0, count);
    const std::ptrdiff_t rows = std::clamp<std::ptrdiff_t>(y.in - begin, above, count) - above;
    const std::ptrdiff_t columns =
        std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(width()) - x.pad, 0, x.in);
    const auto channels = static_cast<std::ptrdiff_t>(in_channels);
    const auto row = static_cast<std::ptrdiff_t>(row_bytes());
    if (rows != count || columns != static_cast<std::ptrdiff_t>(width()))
      std::memset(to, padding, static_cast<std::size_t>(count * row));
    if (rows == 0 || columns == 0) return;
    const kernels::StridedCopy copy{.rank = 3,
                                    .width = 1,
                                    .sizes = {rows, columns, channels},
                                    .in_strides = {in_row, in_column, in_channel},
                                    .out_strides = {row, channels, 1}};
    kernels::kernels().table.copy(copy, image + (begin + above) * in_row,
                                  to + above * row + x.pad * channels);
  }

  // Where the window of a pixel of the band begins.
  const std::uint8_t* window(const Rows& rows, std::ptrdiff_t pixel) const {
    const std::ptrdiff_t row = pixel / x.out * y.step, column = pixel % x.out * x.step;
    return rows.begin + row * rows.distance + column * static_cast<std::ptrdiff_t>(in_channels);
  }

  void copy_windows(const Rows& rows, std::ptrdiff_t pixel, std::ptrdiff_t count, std::uint8_t* to) const {
    const auto runs = static_cast<std::size_t>(x.dilation == 1 ? 1 : x.kernel);
    const std::size_t run = in_channels * static_cast<std::size_t>(x.kernel) / runs;
    const std::size_t next_run = in_channels * static_cast<std::size_t>(x.dilation);
    const std::size_t next_row = row_bytes() * static_cast<std::size_t>(y.dilation);
    for (const std::ptrdiff_t end = pixel + count; pixel < end; ++pixel) {
      const std::uint8_t* from = window(rows, pixel);
      for (std::ptrdiff_t i = 0; i < y.kernel; ++i, from += next_row) {
        for (std::size_t j = 0; j < runs; ++j, to += run) copy_run(from + j * next_run, run, to);
      }
    }
  }

  // Writes the product to the pixels from `to` on.
  void write(kernels::Int8Gemm& product, std::byte* to, float* results) const {
    product.out = is_in_place() ? reinterpret_cast<float*>(to) : results;
    product.out_row = is_in_place() ? out_pixel : static_cast<std::ptrdiff_t>(product.n);
    multiply(product);
    // Runs of adjacent results.
    const bool is_dense = product.out_row == static_cast<std::ptrdiff_t>(product.n) &&
                          (!has_channels_last() || product.out_row == out_pixel);
    const std::size_t runs = is_dense ? 1 : product.m, run = product.m * product.n / runs;
    for (std::size_t i = 0; i < runs && has_channels_last(); ++i) {
      float* const from = product.out + static_cast<std::ptrdiff_t>(i) * product.out_row;
      run_all(activations, run, from);
      if (convert != nullptr) convert(run, from, to + static_cast<std::ptrdiff_t>(i) * out_pixel);
    }
    if (has_channels_last()) return;
    const auto channels = static_cast<std::int64_t>(product.n);
    const kernels::StridedCopy copy{.rank = 2,
                                    .width = sizeof(float),
                                    .sizes = {channels, static_cast<std::int64_t>(product.m)},
                                    .in_strides = {1, channels},
                                    .out_strides = {out_channel, out_pixel}};
    kernels::kernels().table.copy(copy, results, to);
  }

  kernels::Int8Gemm bound(std::byte* const* bases) const {
    kernels::Int8Gemm product = shape;
    product.b = packed->data;
    if (has_zero) product.zero = zero.in<const float>(bases);
    product.row_factor = image_factor.in<const float>(bases);
    product.column_factor = channel_factor.in<const float>(bases);
    if (has_bias) product.bias = bias.in<const float>(bases);
    return product;
  }
};

}  // namespace sr::replay
