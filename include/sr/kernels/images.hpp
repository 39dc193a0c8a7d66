// The arguments of image kernels: padding, convolutions, transposed convolutions and pooling.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sr::kernels {

// One dimension of an image and of the window that moves along it.
struct Axis {
  std::ptrdiff_t in = 1, kernel = 1, step = 1, pad = 0, dilation = 1, out = 1;
};

// An image padded with zeros. Rows of the image are contiguous, and `to` holds channels x y.step x x.step
// phases of rows x pitch: element (y, x) of the padded image is element (y / y.step, x / x.step) of phase (y
// % y.step, x % x.step), so that a kernel with a step reads runs. If `run` is not 0, the channels lie last:
// `run` floats for each column, columns column_stride apart in the image and next to each other in `to`, and
// there are no phases.
struct PaddedImage {
  std::size_t channels = 0;
  Axis y, x;
  std::ptrdiff_t channel_stride = 0, row_stride = 0, rows = 0, pitch = 0;
  std::ptrdiff_t run = 0, column_stride = 0;
  const float* from = nullptr;
  float* to = nullptr;
};

// One result, or several adjacent ones, and where their input begins.
struct Strip {
  std::int32_t in = 0, out = 0;
};

// A range of taps, from `first` to `end` - 1, whose weights are adjacent in memory.
struct TapRun {
  std::uint32_t first = 0, end = 0;
};

// A range of strips that add up the same taps. It begins where the previous region ends, and `end` is the
// index behind its last strip. The taps are the runs from first_run to end_run - 1.
struct TapRegion {
  std::uint32_t end = 0, first_run = 0, end_run = 0;
};

// out[c][p] = min(clamp_max, max(clamp_min, sum[c][p] + bias[c] + added[c][p])), where sum[c][p] adds
// weight[c][t] * in[p + offsets[t]] over the taps t. It is computed for the positions p of the strips, each
// of strip_width <= Table::width results. `bias` and `added` may be null. `added` has the strides of `out`,
// and shares no memory with it. `convolve` reads a whole register for each strip. For `convolve_pixels` and
// `convolve_depthwise` a strip is one pixel of the result, and strips are in the order of `out`: adjacent
// ones are 1 apart or, if out_channel is 1, anywhere. `convolve_pixels` adds up only the taps of its region
// for each pixel, if there are regions: windows that leave the image have no padding to read. For
// `convolve_depthwise_rows`, which needs no offsets, a strip is a row of the result: `in` is its index, and
// the other members say how the image lies.
struct Convolution {
  std::size_t channels = 0, taps = 0, strips = 0, strip_width = 0;
  std::size_t block = 0;  // strips of which all channels are computed before those of others; 0: all strips
  const Strip* at = nullptr;
  const std::int32_t* offsets = nullptr;
  const TapRegion* regions = nullptr;  // of all strips of an image; null: every strip adds up all taps
  const TapRun* runs = nullptr;        // of the regions
  std::size_t first_strip = 0;         // the number of strips of the regions before at[0]
  const float* weight = nullptr;  // what `pack_taps` wrote; of the others, `pack` with n = channels, k = taps
  const float* bias = nullptr;
  const float* added = nullptr;
  float clamp_min = -__builtin_inff(), clamp_max = __builtin_inff();
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t out_channel = 0;
  Axis y = {}, x = {};
  std::ptrdiff_t in_row = 0, in_pixel = 0, out_pixel = 0;  // distances in floats
};

// out[c][y][x] = bias[c] + the sum of factors[c][tap] * columns[c / outputs][tap][position] over all pairs of
// a tap and a position that fall on (y, x). Tap (a, b) of position (i, j) falls on y = i * y.step - y.pad + a
// * y.dilation and on the corresponding x. There are y.in x x.in positions; planes of `columns` and of `out`
// are contiguous. Strides are in elements.
struct TransposedConvolution {
  std::size_t channels = 0;
  Axis y, x;
  const float* columns = nullptr;
  std::ptrdiff_t channel_stride = 0, tap_stride = 0;
  std::ptrdiff_t outputs = 1;
  const float* factors = nullptr;  // null: 1
  const float* bias = nullptr;     // null: 0
  float* out = nullptr;
};

// Windows on contiguous planes of y.in x x.in; the results are planes of y.out x x.out. A phase of a row has
// phase_width elements; x.step phases hold the row with its padding and the last window. If `channels` is not
// 0, the channels lie last: so many adjacent floats are a pixel, and a plane has y.in x x.in pixels. There
// are no phases and no scratch then. Means have one divisor for each position of the window.
struct Pooling {
  std::size_t planes = 0, channels = 0;
  Axis y, x;
  std::ptrdiff_t phase_width = 0;
  const float* in = nullptr;
  float* out = nullptr;
  float* scratch = nullptr;  // 2 x x.step x phase_width
};

// Maxima of the bytes in windows, of dense images whose channels lie last. Dilations are 1, and each window
// has a pixel of the image.
struct BytePooling {
  std::size_t images = 0, channels = 0;
  Axis y, x;
  bool is_signed = false;
  const std::uint8_t* in = nullptr;
  std::uint8_t* out = nullptr;
};

}  // namespace sr::kernels
