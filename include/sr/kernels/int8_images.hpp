// The arguments of kernels that convolve images of 8-bit integers whose channels lie last.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/images.hpp>

namespace sr::kernels {

// What a convolution makes of its sums of integers. For channel c of a pixel it converts the sum to float,
// multiplies it by factor[c], and adds bias[c] and what is `added` at that place. Of floats it then takes the
// maximum with `least` and the minimum with `most`. To write bytes, it multiplies by `scale`, rounds to the
// nearest whole number, ties to even, adds `zero`, and then takes the maximum and the minimum, which must be
// whole numbers that the bytes can represent. NaN becomes any byte. It rounds after each operation and leaves
// out those whose array is null. Bytes that are added stand for (byte - added_zero) * added_scale.
struct Int8Finish {
  enum class Added { none, floats, uint8, int8 };

  const float* factor = nullptr;
  const float* bias = nullptr;
  Added kind = Added::none;
  const void* added = nullptr;  // with the distances of `out`; shares no memory with it
  float added_zero = 0, added_scale = 1;
  bool to_bytes = false, to_signed = false;
  float scale = 1;
  std::int32_t zero = 0;
  float least = -__builtin_inff(), most = __builtin_inff();
  void* out = nullptr;
  std::ptrdiff_t out_pixel = 0;  // elements from a pixel to the next
};

// Sums over windows of uint8 times weights of int8. A window is `runs` runs of 4 * groups adjacent bytes:
// run r of pixel p begins at in[at[p] + run_at[r]]. Bytes behind the elements of a run have the weight 0, but
// must be readable. The sum is taken of the bytes minus `zero`.
struct Int8Windows {
  std::size_t pixels = 0, channels = 0;
  std::size_t runs = 0, groups = 0;
  const std::uint8_t* in = nullptr;
  const std::int32_t* at = nullptr;
  const std::int32_t* run_at = nullptr;
  const std::uint8_t* weight = nullptr;  // what pack_int8_windows wrote
  std::int32_t zero = 0;
  Int8Finish finish;
};

// A depthwise convolution of uint8: channel c of the result is the sum over a window of channel c. Windows
// are 3 x 3 or 5 x 5 and move by 1 or 2. The sum is taken of the bytes minus `zero`, outside of the image 0.
// Rows first_row to end_row - 1 of the result are computed; finish.out is that of first_row.
struct Int8Depthwise {
  std::size_t channels = 0;
  Axis y, x;
  const std::uint8_t* in = nullptr;
  bool in_signed = false;                   // int8, of which each is read as a byte of 128 more
  std::ptrdiff_t in_row = 0, in_pixel = 0;  // bytes
  const std::uint8_t* weight = nullptr;     // what pack_int8_depthwise wrote
  std::int32_t zero = 0;                    // of bytes as they are read
  std::ptrdiff_t first_row = 0, end_row = 0;
  Int8Finish finish;
};

}  // namespace sr::kernels
