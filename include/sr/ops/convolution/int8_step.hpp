// The step that convolves images of 8-bit integers, by products of their windows and the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/convolution/int8_image_step.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The result is computed in bands of rows. For each band, the step copies the rows of the image that it
// needs, padded, in NHWC layout, unless the windows can be read where they lie in the image. A kernel of
// windows reads them from there. For a kernel of products, the windows of some pixels are copied to the rows
// of a matrix first (im2col). Sums are exact, so results do not depend on the bands.
struct Int8ConvolutionStep final : ClonableStep<Int8ConvolutionStep, Int8ImageStep> {
  kernels::Axis y, x;
  std::size_t in_channels = 0;
  // The zero point, as a byte of what is convolved: of int8 that windows are read of, 128 more.
  std::uint8_t padding = 0;
  bool flips = false;                                        // the copy of the image has bytes of 128 more
  std::ptrdiff_t in_channel = 0, in_row = 0, in_column = 0;  // distances in elements
  Address zero, image_factor;
  bool has_zero = false, has_image_factor = false;
  void (*multiply)(const kernels::Int8Gemm& product) = nullptr;
  kernels::Int8Gemm shape;                                      // of all windows of a band
  void (*convolve)(const kernels::Int8Windows& all) = nullptr;  // null: `multiply`
  kernels::Int8Windows windows;
  std::vector<std::int32_t> at, run_at;  // of the windows of a band; see kernels::Int8Windows

  std::size_t vector_bytes() const { return bytes_of(at) + bytes_of(run_at); }

  // Neighbouring bands copy the same rows, so that bands are large unless results have to stay in the cache.
  std::ptrdiff_t most_rows() const override {
    const bool is_large = convolve != nullptr && !needs_block() && behind.activations.empty();
    const std::size_t most = is_large ? 4 * kPixels : kPixels;
    return std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most) / x.out, 1, y.out);
  }
  std::int64_t scratch_floats() const override {
    return static_cast<std::int64_t>((image_bytes() + window_bytes()) / sizeof(float) +
                                     (needs_block() ? most_pixels() * channels : 0));
  }
  // To be called once all else is set.
  void prepare() {
    if (convolve == nullptr) return;
    const Rows rows{nullptr, reads_image() ? in_row : static_cast<std::ptrdiff_t>(row_bytes())};
    const std::ptrdiff_t runs = x.dilation == 1 ? 1 : x.kernel;
    for (std::ptrdiff_t pixel = 0; pixel < most_rows() * x.out; ++pixel)
      at.push_back(static_cast<std::int32_t>(offset_of_window(rows, pixel)));
    for (std::ptrdiff_t i = 0; i < y.kernel; ++i) {
      for (std::ptrdiff_t j = 0; j < runs; ++j)
        run_at.push_back(static_cast<std::int32_t>(
            i * y.dilation * rows.distance + j * x.dilation * static_cast<std::ptrdiff_t>(in_channels)));
    }
    windows.channels = channels;
    windows.runs = run_at.size();
    windows.groups = (weight.run_bytes() + 3) / 4;
    windows.zero = padding;
  }

 private:
  static constexpr std::size_t kPixels = 252;  // that are multiplied together: whole tiles of all kernels
  static constexpr std::size_t kChunk = 32;    // bytes that are copied at once, so copies may be longer

  static std::size_t reach(const kernels::Axis& axis) {
    return static_cast<std::size_t>((axis.kernel - 1) * axis.dilation);
  }
  static std::size_t whole(std::size_t bytes) { return (bytes + 2 * kChunk - 1) / kChunk * kChunk; }

  // The size of the padded copy.
  std::size_t width() const { return static_cast<std::size_t>((x.out - 1) * x.step) + reach(x) + 1; }
  std::size_t height(std::ptrdiff_t rows) const {
    return static_cast<std::size_t>((rows - 1) * y.step) + reach(y) + 1;
  }
  std::size_t row_bytes() const { return width() * in_channels; }
  std::size_t image_bytes() const { return reads_image() ? 0 : whole(height(most_rows()) * row_bytes()); }

  // True if the windows of a row of the result are rows of a matrix as they lie in the padded copy, which may
  // overlap; and whether those of all rows are.
  bool has_windows_in_rows() const { return y.kernel == 1 && (x.kernel == 1 || x.dilation == 1); }
  bool has_windows_in_place() const { return has_windows_in_rows() && x.kernel == 1 && x.step * y.step == 1; }

  // True if the windows are read where they lie in the image. A kernel of windows reads four bytes at a time.
  bool reads_image() const {
    const bool can = convolve == nullptr ? has_windows_in_rows() : !flips && in_channels % 4 == 0;
    return can && y.pad == 0 && x.pad == 0 && in_channel == 1 &&
           in_column == static_cast<std::ptrdiff_t>(in_channels);
  }

  // The number of pixels that are multiplied together. More of them read the weights less often, but the
  // windows have to stay in the cache.
  std::size_t most_pixels() const {
    constexpr std::size_t kMostBytes = std::size_t{1} << 18, kLeast = 16, kActivated = 16384;
    // Activations find results in the cache.
    const std::size_t activated =
        behind.activations.empty() ? kPixels : std::max(kActivated / channels, kLeast);
    const auto in_band = std::min({static_cast<std::size_t>(most_rows() * x.out), kPixels, activated});
    const auto steps = static_cast<std::size_t>(y.step * x.step);
    const std::size_t bytes = convolve == nullptr ? shape.k : in_channels * steps;  // that a pixel adds
    return std::min(in_band, std::max(kMostBytes / bytes, kLeast));
  }
  std::size_t window_bytes() const {
    return convolve != nullptr || has_windows_in_rows() ? 0 : whole(most_pixels() * shape.k);
  }

  static void copy_run(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) {
    for (std::size_t i = 0; i < bytes; i += kChunk) std::memcpy(to + i, from + i, kChunk);
  }

  // The padded image, or a part of it. Pixels of a row are next to each other.
  struct Rows {
    const std::uint8_t* begin;
    std::ptrdiff_t distance;  // of rows
  };

  void convolve_band(std::byte* const* bases, std::int64_t image, std::ptrdiff_t first, std::ptrdiff_t count,
                     float* memory) const override {
    auto* const copy = reinterpret_cast<std::uint8_t*>(memory);
    const std::uint8_t* const from = in.in<const std::uint8_t>(bases) + image * in_image;
    Rows rows{copy, static_cast<std::ptrdiff_t>(row_bytes())};
    if (reads_image()) {
      rows = {from + first * y.step * in_row, in_row};
    } else {
      copy_rows(from, first, first + count, copy);
    }
    std::uint8_t* const matrix = copy + image_bytes();
    auto* const block = reinterpret_cast<float*>(matrix + window_bytes());
    const bool by_rows =
        convolve == nullptr && has_windows_in_rows() &&
        !(has_windows_in_place() && rows.distance == x.out * static_cast<std::ptrdiff_t>(in_channels));
    const auto most = static_cast<std::ptrdiff_t>(most_pixels());
    for (std::ptrdiff_t pixel = 0; pixel < count * x.out;) {
      const std::ptrdiff_t left = by_rows ? x.out - pixel % x.out : count * x.out - pixel;
      const auto some = static_cast<std::size_t>(std::min(most, left));
      write(bases, image, first * x.out + pixel, some, block, [&](const kernels::Int8Finish& own) {
        if (convolve != nullptr) return convolve_windows(rows, pixel, some, own);
        multiply_windows(bases, rows, pixel, some, matrix, own);
      });
      pixel += static_cast<std::ptrdiff_t>(some);
    }
  }

  void convolve_windows(const Rows& rows, std::ptrdiff_t pixel, std::size_t count,
                        const kernels::Int8Finish& own) const {
    kernels::Int8Windows some = windows;
    some.pixels = count;
    some.in = rows.begin;
    some.at = at.data() + pixel;
    some.run_at = run_at.data();
    some.weight = packed->data;
    some.finish = own;
    convolve(some);
  }
  void multiply_windows(std::byte* const* bases, const Rows& rows, std::ptrdiff_t pixel, std::size_t count,
                        std::uint8_t* matrix, const kernels::Int8Finish& own) const {
    kernels::Int8Gemm product = shape;
    product.m = count;
    if (has_windows_in_rows()) {
      product.a = rows.begin + offset_of_window(rows, pixel);
      product.a_row = x.step * static_cast<std::ptrdiff_t>(in_channels);
    } else {
      copy_windows(rows, pixel, static_cast<std::ptrdiff_t>(count), matrix);
      product.a = matrix;
      product.a_row = static_cast<std::ptrdiff_t>(shape.k);
    }
    product.b = packed->data;
    if (has_zero) product.zero = zero.in<const float>(bases);
    if (has_image_factor) product.row_factor = image_factor.in<const float>(bases);
    product.column_factor = own.factor;
    product.bias = own.bias;
    product.clamp_min = own.least;
    product.out = static_cast<float*>(own.out);
    product.out_row = own.out_pixel;
    multiply(product);
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
    const auto pixel_bytes = static_cast<std::ptrdiff_t>(in_channels);
    const auto row = static_cast<std::ptrdiff_t>(row_bytes());
    if (rows != count || columns != static_cast<std::ptrdiff_t>(width()))
      std::memset(to, padding, static_cast<std::size_t>(count * row));
    if (rows == 0 || columns == 0) return;
    const kernels::StridedCopy copy{.rank = 3,
                                    .width = 1,
                                    .sizes = {rows, columns, pixel_bytes},
                                    .in_strides = {in_row, in_column, in_channel},
                                    .out_strides = {row, pixel_bytes, 1}};
    std::uint8_t* const first_row = to + above * row;
    kernels::kernels().table.copy(copy, image + (begin + above) * in_row, first_row + x.pad * pixel_bytes);
    if (!flips) return;
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
      std::uint8_t* const bytes = first_row + r * row + x.pad * pixel_bytes;
      for (std::ptrdiff_t i = 0; i < columns * pixel_bytes; ++i) bytes[i] ^= 0x80U;
    }
  }

  // Where the window of a pixel of the band begins, from rows.begin on.
  std::ptrdiff_t offset_of_window(const Rows& rows, std::ptrdiff_t pixel) const {
    const std::ptrdiff_t row = pixel / x.out * y.step, column = pixel % x.out * x.step;
    return row * rows.distance + column * static_cast<std::ptrdiff_t>(in_channels);
  }

  void copy_windows(const Rows& rows, std::ptrdiff_t pixel, std::ptrdiff_t count, std::uint8_t* to) const {
    const auto runs = static_cast<std::size_t>(x.dilation == 1 ? 1 : x.kernel);
    const std::size_t run = in_channels * static_cast<std::size_t>(x.kernel) / runs;
    const std::size_t next_run = in_channels * static_cast<std::size_t>(x.dilation);
    const std::size_t next_row = row_bytes() * static_cast<std::size_t>(y.dilation);
    for (const std::ptrdiff_t end = pixel + count; pixel < end; ++pixel) {
      const std::uint8_t* from = rows.begin + offset_of_window(rows, pixel);
      for (std::ptrdiff_t i = 0; i < y.kernel; ++i, from += next_row) {
        for (std::size_t j = 0; j < runs; ++j, to += run) copy_run(from + j * next_run, run, to);
      }
    }
  }
};

}  // namespace sr::replay
