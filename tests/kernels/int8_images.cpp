// Convolutions of images of 8-bit integers against plain loops, bit by bit, with every set of kernels that
// has them on this CPU. Images, weights and results end at inaccessible pages.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::random_bits;
using sr::test::signed_size;
using sr::test::uniform_floats;
using sr::test::unsigned_size;

namespace {

using Added = Int8Finish::Added;

std::vector<std::int8_t> random_weights(std::size_t count) {
  std::vector<std::int8_t> weights(count);
  for (std::int8_t& weight : weights) {
    const auto bits = random_bits()();
    weight = static_cast<std::int8_t>(bits % 4 == 0 ? 0x80 : bits >> 8);
  }
  return weights;
}

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) {
    const auto bits = random_bits()();
    byte = static_cast<std::uint8_t>(bits % 4 == 0 ? (bits % 8 == 0 ? 0x80 : 0xff) : bits >> 8);
  }
  return bytes;
}

template <class T>
T* last_of(Guarded& memory, const std::vector<T>& values) {
  T* const at = memory.last<T>(values.size());
  std::copy(values.begin(), values.end(), at);
  return at;
}

// What becomes of the sums in the order of pixels and channels.
struct Expected {
  Int8Finish finish;

  float added(std::size_t at) const {
    switch (finish.kind) {
      case Added::none:
        return 0;
      case Added::floats:
        return static_cast<const float*>(finish.added)[at];
      case Added::uint8:
        return of_byte(static_cast<const std::uint8_t*>(finish.added)[at]);
      case Added::int8:
        return of_byte(static_cast<const std::int8_t*>(finish.added)[at]);
    }
    return 0;
  }
  float of_byte(int byte) const {
    return (static_cast<float>(byte) - finish.added_zero) * finish.added_scale;
  }
  // The result, or the whole number that a byte has.
  float operator()(std::int32_t sum, std::size_t pixel, std::size_t channel) const {
    float result = static_cast<float>(sum) * finish.factor[channel];
    if (finish.bias != nullptr) result = result + finish.bias[channel];
    if (finish.kind != Added::none)
      result = result + added(pixel * unsigned_size(finish.out_pixel) + channel);
    if (finish.to_bytes) {
      result = std::nearbyint(result * finish.scale);
      result = result + static_cast<float>(finish.zero);
    }
    return std::min(finish.most, std::max(finish.least, result));
  }
};

// Draws what becomes of the sums, and runs `convolve` with it into memory with some bytes between pixels.
class Finishing {
 public:
  Finishing(std::size_t pixels, std::size_t channels, bool may_add)
      : pixels_(pixels),
        channels_(channels),
        pixel_(channels + random_bits()() % 2 * 3),
        factor_(uniform_floats(channels, 1e-4F, 1e-3F)),
        bias_(uniform_floats(channels)) {
    const std::size_t count = (pixels - 1) * pixel_ + channels;
    floats_ = uniform_floats(count);
    bytes_ = random_bytes(count);
    finish_.factor = last_of(factor_memory(), factor_);
    if (random_bits()() % 4 != 0) finish_.bias = last_of(bias_memory(), bias_);
    finish_.out_pixel = signed_size(pixel_);
    if (may_add) finish_.kind = static_cast<Added>(random_bits()() % 4);
    if (finish_.kind == Added::floats) finish_.added = last_of(added_memory(), floats_);
    if (finish_.kind == Added::uint8 || finish_.kind == Added::int8)
      finish_.added = last_of(added_memory(), bytes_);
    finish_.added_zero = 17;
    finish_.added_scale = 0.03F;
    finish_.to_bytes = random_bits()() % 2 == 0;
    finish_.to_signed = random_bits()() % 2 == 0;
    if (finish_.to_bytes) {
      finish_.scale = 40;
      finish_.zero = finish_.to_signed ? -3 : 9;
      finish_.least = finish_.to_signed ? -128 : 0;
      finish_.most = finish_.to_signed ? 100 : 255;
    } else if (random_bits()() % 2 == 0) {
      finish_.least = -0.5F;
      finish_.most = 1.5F;
    }
  }

  // The number of results that differ from those of the sums, and of bytes between pixels that are changed.
  template <class Convolve, class Sum>
  std::size_t wrong(Convolve convolve, Sum sum) {
    const std::size_t element = finish_.to_bytes ? 1 : sizeof(float);
    const std::size_t count = ((pixels_ - 1) * pixel_ + channels_) * element;
    static Guarded memory(1 << 20);
    auto* const out = memory.last<std::uint8_t>(count);
    std::fill_n(out, count, std::uint8_t{77});
    finish_.out = out;
    convolve(finish_);
    const Expected expected{finish_};
    std::size_t wrong = 0;
    for (std::size_t p = 0; p < pixels_; ++p) {
      for (std::size_t c = 0; c < pixel_ && p * pixel_ + c < (pixels_ - 1) * pixel_ + channels_; ++c) {
        const std::uint8_t* const at = out + (p * pixel_ + c) * element;
        if (c >= channels_) {
          for (std::size_t i = 0; i < element; ++i) wrong += at[i] != 77;
          continue;
        }
        const float result = expected(sum(p, c), p, c);
        if (finish_.to_bytes) {
          wrong += *at != static_cast<std::uint8_t>(static_cast<std::int32_t>(result));
        } else {
          float written;
          std::memcpy(&written, at, sizeof(written));
          wrong += !sr::test::same(written, result);
        }
      }
    }
    return wrong;
  }

 private:
  static Guarded& factor_memory() {
    static Guarded memory(1 << 16);
    return memory;
  }
  static Guarded& bias_memory() {
    static Guarded memory(1 << 16);
    return memory;
  }
  static Guarded& added_memory() {
    static Guarded memory(1 << 20);
    return memory;
  }

  std::size_t pixels_, channels_, pixel_;
  std::vector<float> factor_, bias_, floats_;
  std::vector<std::uint8_t> bytes_;
  Int8Finish finish_;
};

struct Image {
  std::ptrdiff_t channels, rows, columns, kernel, step;
};

void check_windows(const Int8Form& form, const Table& table, const Image& image, std::size_t results) {
  const auto in_channels = unsigned_size(image.channels), kernel = unsigned_size(image.kernel);
  const std::ptrdiff_t row = image.columns * image.channels;
  const std::ptrdiff_t y_out = (image.rows - image.kernel) / image.step + 1,
                       x_out = (image.columns - image.kernel) / image.step + 1;
  const auto pixels = unsigned_size(y_out * x_out);
  const std::size_t run = kernel * in_channels, groups = (run + 3) / 4;
  // The bytes that a group has behind a run must be readable.
  const std::vector<std::uint8_t> in = random_bytes(unsigned_size(image.rows * row) + groups * 4 - run);
  const std::vector<std::int8_t> weights = random_weights(results * kernel * run);
  static Guarded in_memory(1 << 18), weight_memory(1 << 20);
  const std::size_t bytes = (table.packed_int8_windows_bytes(results, kernel * groups) + 63) / 64 * 64;
  auto* const packed = weight_memory.last<std::uint8_t>(bytes);
  table.pack_int8_windows(results, kernel, run, weights.data(), packed);
  std::vector<std::int32_t> at, run_at;
  for (std::ptrdiff_t i = 0; i < y_out; ++i) {
    for (std::ptrdiff_t j = 0; j < x_out; ++j)
      at.push_back(static_cast<std::int32_t>(i * image.step * row + j * image.step * image.channels));
  }
  for (std::ptrdiff_t i = 0; i < image.kernel; ++i) run_at.push_back(static_cast<std::int32_t>(i * row));
  Int8Windows all;
  all.pixels = pixels;
  all.channels = results;
  all.runs = kernel;
  all.groups = groups;
  all.in = last_of(in_memory, in);
  all.at = at.data();
  all.run_at = run_at.data();
  all.weight = packed;
  all.zero = static_cast<std::int32_t>(random_bits()() % 256);
  Finishing finishing(pixels, results, /*may_add=*/true);
  const std::size_t wrong = finishing.wrong(
      [&](const Int8Finish& finish) {
        all.finish = finish;
        form.windows(all);
      },
      [&](std::size_t pixel, std::size_t channel) {
        std::int32_t sum = 0;
        for (std::size_t r = 0; r < kernel; ++r) {
          for (std::size_t i = 0; i < run; ++i) {
            const std::size_t from = unsigned_size(at[pixel] + run_at[r]) + i;
            sum += (in[from] - all.zero) * weights[(channel * kernel + r) * run + i];
          }
        }
        return sum;
      });
  CAPTURE(table.name, image.channels, image.rows, image.columns, image.kernel, image.step, results);
  CHECK(wrong == 0);
}

void check_depthwise(const Int8Form& form, const Table& table, const Image& image) {
  const auto channels = unsigned_size(image.channels), kernel = unsigned_size(image.kernel);
  const std::ptrdiff_t pad = signed_size(random_bits()() % 4);
  const auto axis = [&](std::ptrdiff_t in) {
    return Axis{.in = in,
                .kernel = image.kernel,
                .step = image.step,
                .pad = pad,
                .out = (in + 2 * pad - image.kernel) / image.step + 1};
  };
  if (std::min(image.rows, image.columns) + 2 * pad < image.kernel) return;
  const std::ptrdiff_t pixel = image.channels + signed_size(random_bits()() % 2 * 5);
  const std::ptrdiff_t row = image.columns * pixel;
  const std::vector<std::uint8_t> in = random_bytes(unsigned_size(image.rows * row - pixel + image.channels));
  const std::vector<std::int8_t> weights = random_weights(channels * kernel * kernel);
  static Guarded in_memory(1 << 18), weight_memory(1 << 18);
  const std::size_t bytes = (table.packed_int8_depthwise_bytes(channels, kernel) + 63) / 64 * 64;
  auto* const packed = weight_memory.last<std::uint8_t>(bytes);
  table.pack_int8_depthwise(channels, kernel, weights.data(), packed);
  Int8Depthwise all;
  all.channels = channels;
  all.y = axis(image.rows);
  all.x = axis(image.columns);
  all.in = last_of(in_memory, in);
  all.in_signed = random_bits()() % 2 == 0;
  all.in_row = row;
  all.in_pixel = pixel;
  all.weight = packed;
  all.zero = static_cast<std::int32_t>(random_bits()() % 256);
  all.first_row = all.y.out / 3;
  all.end_row = all.y.out;
  const auto pixels = unsigned_size((all.end_row - all.first_row) * all.x.out);
  Finishing finishing(pixels, channels, /*may_add=*/false);
  const std::size_t wrong = finishing.wrong(
      [&](const Int8Finish& finish) {
        all.finish = finish;
        form.depthwise(all);
      },
      [&](std::size_t at, std::size_t channel) {
        const std::ptrdiff_t i = all.first_row + signed_size(at) / all.x.out, j = signed_size(at) % all.x.out;
        std::int32_t sum = 0;
        for (std::ptrdiff_t a = 0; a < image.kernel; ++a) {
          for (std::ptrdiff_t b = 0; b < image.kernel; ++b) {
            const std::ptrdiff_t y = i * image.step - pad + a, x = j * image.step - pad + b;
            if (y < 0 || x < 0 || y >= image.rows || x >= image.columns) continue;
            std::uint8_t byte = in[unsigned_size(y * row + x * pixel) + channel];
            if (all.in_signed) byte ^= 0x80U;
            sum += (byte - all.zero) *
                   weights[(channel * kernel + unsigned_size(a)) * kernel + unsigned_size(b)];
          }
        }
        return sum;
      });
  CAPTURE(table.name, image.channels, image.rows, image.columns, image.kernel, image.step, pad, pixel);
  CHECK(wrong == 0);
}

template <class Check>
void with_forms(Check check) {
  for (const Kernels* set : kernel_sets()) {
    for (const Int8Form& form : int8_forms(set->table)) check(form, set->table);
  }
}

}  // namespace

TEST_CASE("kernels: windows of 8-bit integers", "[kernels]") {
  with_forms([](const Int8Form& form, const Table& table) {
    if (form.windows == nullptr) return;
    for (const Image& image : {Image{3, 9, 11, 3, 2}, Image{1, 4, 5, 1, 1}, Image{16, 7, 8, 3, 1},
                               Image{21, 6, 7, 2, 1}, Image{64, 5, 5, 1, 2}, Image{130, 5, 6, 5, 1}}) {
      for (const std::size_t results : {1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 64, 70}) {
        for (int time = 0; time < 4; ++time) check_windows(form, table, image, results);
      }
    }
  });
}

TEST_CASE("kernels: depthwise convolution of 8-bit integers", "[kernels]") {
  with_forms([](const Int8Form& form, const Table& table) {
    if (form.depthwise == nullptr) return;
    for (const std::ptrdiff_t channels : {1, 16, 31, 32, 33, 64, 70, 128, 150}) {
      for (const std::ptrdiff_t kernel : {3, 5}) {
        for (const std::ptrdiff_t step : {1, 2}) {
          for (const auto& [rows, columns] :
               {std::pair<std::ptrdiff_t, std::ptrdiff_t>{7, 9}, {1, 1}, {5, 14}})
            for (int time = 0; time < 4; ++time)
              check_depthwise(form, table, {channels, rows, columns, kernel, step});
        }
      }
    }
  });
}
