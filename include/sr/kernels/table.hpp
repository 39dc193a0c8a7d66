// The table of kernels that replay calls: functions on raw pointers, one table for each instruction set.
// Without LibTorch and containers: the same headers are compiled with the flags of several instruction sets,
// and may contain no code that the linker could merge across them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/images.hpp>
#include <sr/kernels/int8_images.hpp>
#include <sr/kernels/products.hpp>

namespace sr::kernels {

// One pointwise operation: out[i] = vector_op(in[0][i], in[1][i], ...) for i < n. An operand whose bit is set
// in the variant's index is one float that stands for all i. `out` may be the same address as an operand, but
// never overlaps one otherwise. Nothing outside the n elements is read or written.
using VectorLoop = void (*)(std::size_t n, float* out, const float* const* in);

inline constexpr std::size_t kMaxOperands = 3;

// A function whose argument types exist for one instruction set only.
using AnyFunction = void (*)();

// A link of a chain for blocks of eight and of four registers.
struct LinkFunctions {
  AnyFunction by_eight = nullptr, by_four = nullptr;
};

// One link of a chain of vector ops: its functions, and the operands that do not come from the previous link,
// the source of a load or the target of a store. The array ends with ChainEnd::end.
struct ChainLink {
  LinkFunctions run;
  std::array<float*, 2> at{};
};
// Links that are no vector ops. Values that a link of the same chain has stored are kept and loaded by
// separate functions: once a load has waited for a store, the processor makes every later load at that
// instruction wait.
enum class ChainEnd { load, store, end, keep, load_kept };

// A vector op as a link; its contents depend on the instruction set. The kind says which operands do not come
// from the chain. One operand: kind 0. Two operands: 0 the second; 1 the second, a scalar; 2 the first; 3 the
// first, a scalar; 4 none; 5 the second, which the chain has kept; 6 the first, which it has kept. Three
// operands: always the second and third; + 1 if the second is a scalar, + 2 if the third is.
struct Links {};
inline constexpr std::size_t kLinkKinds = 7;

struct VectorLoops {
  std::size_t operands = 0;
  std::array<VectorLoop, std::size_t{1} << kMaxOperands>
      by_scalars{};              // index: bit i = operand i is one float
  const Links* links = nullptr;  // of the table's instruction set; null: it cannot be linked
};

// A vector op on doubles or 64-bit integers; otherwise as VectorLoop.
using Loop64 = void (*)(std::size_t n, void* out, const void* const* in);

struct Loops64 {
  std::array<Loop64, std::size_t{1} << kMaxOperands> by_scalars{};
};

// Converts n elements as C++ does. The arrays must not overlap. Null if there is no such conversion.
using Convert = void (*)(std::size_t n, const void* in, void* out);
enum class Element { float32, boolean, uint8, int8, int16, int32, int64, bfloat16, float16, float64 };
inline constexpr std::size_t kElements = 10;
using Conversions = std::array<std::array<Convert, kElements>, kElements>;  // from, to

// Reduces `outer` groups of `count` rows of `inner` contiguous elements over the rows: one result for each
// group and element. Strides are in elements. If inner is 1, the elements of a group must be contiguous.
struct OuterReduction {
  std::size_t outer = 1, count = 0, inner = 1;
  std::ptrdiff_t in_outer = 0, in_row = 0;
  std::ptrdiff_t out_outer = 0, out_row = 0;  // out_row: only where there is a result for each row
  const float* in = nullptr;
  float* out = nullptr;
  float divisor = 1;  // of sums; then the square root, where it is asked for
  bool root = false;
};
enum class Reduce { sum, max, min, squares, magnitudes };  // the last two: sums of x * x and of |x|
inline constexpr std::size_t kReduces = 5;

// A matrix with contiguous rows. Strides are in elements.
struct RowMatrix {
  std::size_t rows = 0, columns = 0;
  const float* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
};

// Rows of attention's scores or results. Kernels write their results in the same place.
struct Scores {
  std::size_t rows = 0, columns = 0;
  float* begin = nullptr;
  std::ptrdiff_t stride = 0;
  float scale = 1;  // > 0 for exp_scores
};

// Each bag is a run of indices of rows of a table: out[b] is the sum of the rows with the indices from
// offsets[b] to the next bag's offset, or their mean, maximum or weighted sum by the mode. An empty bag gives
// zeros. Indices must be within the table, and offsets must not decrease; neither is checked.
enum class BagMode { sum, mean, weighted_sum, max };
struct Bags {
  BagMode mode = BagMode::sum;
  std::size_t bags = 0, columns = 0;
  const void* table = nullptr;      // of floats, or as kernels/quantized_bags.hpp describes it
  std::ptrdiff_t table_stride = 0;  // between rows, in floats or bytes
  const void* indices = nullptr;
  const void* offsets = nullptr;  // null: each bag has `bag_length` indices
  std::int64_t bag_length = 0;
  bool wide = true;  // both are of 64 bits, else of 32
  std::int64_t indices_count = 0, offsets_count = 0;
  std::int64_t padding = -1;       // an index that counts for nothing
  const float* weights = nullptr;  // by position in `indices`
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
};

// Copies `count` runs of elements. Dimensions are outermost first; sizes[rank - 1] is the innermost. Elements
// are `width` bytes (1, 2, 4, 8 or 16) and strides are in elements; a stride of 0 repeats.
struct StridedCopy {
  static constexpr std::size_t kMaxRank = 8;
  std::size_t rank = 0, width = 0;
  std::array<std::int64_t, kMaxRank> sizes{}, in_strides{}, out_strides{};
};

// One time step of a recurrent layer, except for its matrix products. The products are in x (of the input,
// with the bias) and in h (of the hidden state): row r begins at x + r * x_row and at h + r * h_row, and has
// `units` floats for each gate, in PyTorch's order (LSTM: input, forget, cell, output; GRU: reset, update,
// new). `state` has the old cell of LSTM, or the old hidden state of GRU. The kernel writes the new hidden
// state to `out`, which must not overlap the other arrays, and the new cell of LSTM to `cell`, which may be
// `state`.
enum class RecurrentCell { lstm, gru, tanh, relu };
inline constexpr std::size_t kRecurrentCells = 4;
struct RecurrentGates {
  std::size_t rows = 0, units = 0;
  const float* x = nullptr;
  std::ptrdiff_t x_row = 0;
  const float* h = nullptr;
  std::ptrdiff_t h_row = 0;
  const float* state = nullptr;
  std::ptrdiff_t state_row = 0;
  float* cell = nullptr;  // of LSTM only
  std::ptrdiff_t cell_row = 0;
  float* out = nullptr;
  std::ptrdiff_t out_row = 0;
};

// The kernels that multiply fp32 matrices by weights of T: bfloat16, float16 or int8.
template <class T>
struct SmallWeights {
  void (*pack)(std::size_t n, std::size_t k, const T* b, std::ptrdiff_t b_k, std::ptrdiff_t b_n,
               T* packed) = nullptr;
  void (*multiply)(const GemmOf<T, float>& product) = nullptr;
  void (*multiply_and_round)(const GemmOf<T, T>& product) = nullptr;  // null for int8
};

struct Table {
  const char* name = "";  // of the instruction set: "baseline", "avx2", "avx512"
  std::size_t width = 0;  // floats of a register
  // The number of rows of a product, or channels of a convolution, that are computed together. Results from a
  // multiple of it on are bit-identical when they are computed separately.
  std::size_t tile = 0;

  // Indexed by Reduce. Sums are sums of partial sums over blocks; extrema are NaN if an element is NaN.
  std::array<void (*)(const OuterReduction& columns), kReduces> reduce{};
  // Finds the first of the largest (or smallest) elements, or the first NaN. Writes its row to `index` and,
  // unless `out` is null, the element to `out`, both with the stride out_outer. count > 0.
  void (*extreme)(const OuterReduction& columns, bool smallest, std::int64_t* index) = nullptr;
  void (*softmax_rows)(const RowMatrix& rows) = nullptr;
  void (*log_softmax_rows)(const RowMatrix& rows) = nullptr;
  // The softmax of attention, in three parts. Each returns whether all elements were finite before.
  // Multiplies the scores by the scale.
  bool (*scale_scores)(const Scores& scores) = nullptr;
  // Replaces each score by exp(scale * (score - the largest score of its row)). Writes the sum of each row.
  bool (*exp_scores)(const Scores& scores, float* sums) = nullptr;
  // Divides each row of the results by the sum of that row of scores.
  bool (*divide_rows)(const Scores& results, const float* sums) = nullptr;
  void (*softmax_columns)(const OuterReduction& columns) = nullptr;
  void (*log_softmax_columns)(const OuterReduction& columns) = nullptr;
  // (x - mean) / sqrt(variance + epsilon) * gamma + beta; gamma and beta may be null.
  void (*layer_norm_rows)(const RowMatrix& rows, const float* gamma, const float* beta,
                          float epsilon) = nullptr;
  // x / sqrt(mean of squares + epsilon) * gamma; gamma may be null.
  void (*rms_norm_rows)(const RowMatrix& rows, const float* gamma, float epsilon) = nullptr;
  // Layer norm with a gamma and a beta for each channel. The rows are the groups of one image after the
  // other, each of `channels` planes.
  void (*group_norm_rows)(const RowMatrix& rows, std::size_t groups, std::size_t channels, const float* gamma,
                          const float* beta, float epsilon) = nullptr;

  // Packs a constant right-hand side b[l][j] (k x n, any strides) into the layout that `packed_gemm` reads:
  // packed_floats(n, k) floats, aligned to 64 bytes.
  std::size_t (*packed_floats)(std::size_t n, std::size_t k) = nullptr;
  void (*pack)(std::size_t n, std::size_t k, const float* b, std::ptrdiff_t b_k, std::ptrdiff_t b_n,
               float* packed) = nullptr;
  void (*packed_gemm)(const Gemm& product) = nullptr;
  // Products of weights of 16 or 8 bits. Their panels have another layout, of packed_small(n, k) elements.
  std::size_t (*packed_small)(std::size_t n, std::size_t k) = nullptr;
  SmallWeights<Bfloat16Bits> bfloat16_weights;
  SmallWeights<Float16Bits> float16_weights;
  SmallWeights<std::int8_t> int8_weights;
  // Packs weights of int8 for products of 8-bit integers, aligned to 64 bytes. Call
  // int8_gemm_by_bytes and int8_gemm_by_tiles only if int8_forms() lists them; they are null where the
  // instruction set has no such form. All three give the same bits.
  std::size_t (*packed_int8_bytes)(std::size_t n, std::size_t k) = nullptr;
  void (*pack_int8)(std::size_t n, std::size_t k, const std::int8_t* b, std::ptrdiff_t b_k,
                    std::ptrdiff_t b_n, std::uint8_t* packed) = nullptr;
  void (*int8_gemm)(const Int8Gemm& product) = nullptr;
  void (*int8_gemm_by_bytes)(const Int8Gemm& product) = nullptr;
  void (*int8_gemm_by_tiles)(const Int8Gemm& product) = nullptr;
  // Packs `channels` rows of `runs` runs of run_bytes bytes each, aligned to 64 bytes. The kernels are null
  // where the instruction set has none; those by bytes may be called where int8_gemm_by_bytes may be.
  std::size_t (*packed_int8_windows_bytes)(std::size_t channels, std::size_t groups) = nullptr;
  void (*pack_int8_windows)(std::size_t channels, std::size_t runs, std::size_t run_bytes,
                            const std::int8_t* weights, std::uint8_t* packed) = nullptr;
  void (*int8_windows)(const Int8Windows& all) = nullptr;
  void (*int8_windows_by_bytes)(const Int8Windows& all) = nullptr;
  // Packs `channels` windows of kernel x kernel, aligned to 64 bytes.
  std::size_t (*packed_int8_depthwise_bytes)(std::size_t channels, std::size_t kernel) = nullptr;
  void (*pack_int8_depthwise)(std::size_t channels, std::size_t kernel, const std::int8_t* weights,
                              std::uint8_t* packed) = nullptr;
  void (*int8_depthwise)(const Int8Depthwise& all) = nullptr;
  void (*int8_depthwise_by_bytes)(const Int8Depthwise& all) = nullptr;
  // Makes bytes of n floats: the part of `finish` from `scale` on. Null where the instruction set has none.
  void (*quantize_floats)(std::size_t n, const float* from, const Int8Finish& finish) = nullptr;
  void (*quantize_rows)(const RowQuantization& rows) = nullptr;
  // Packs weights of 8 or 4 bits that groups of k have scales for, aligned to 64 bytes.
  std::size_t (*packed_grouped_bytes)(const GroupedWeights& weights) = nullptr;
  void (*pack_grouped)(const GroupedWeights& weights, std::uint8_t* packed) = nullptr;
  void (*grouped_gemm)(const GroupedGemm& product) = nullptr;
  // Packs such weights for products with int8 activations. They have no zero points, and a group has a
  // multiple of 8 elements. int8_grouped_gemm_by_bytes gives the same bits as int8_grouped_gemm, and may be
  // called where int8_gemm_by_bytes may be.
  std::size_t (*packed_int8_grouped_bytes)(const GroupedWeights& weights) = nullptr;
  void (*pack_int8_grouped)(const GroupedWeights& weights, std::uint8_t* packed) = nullptr;
  void (*int8_grouped_gemm)(const Int8GroupedGemm& product) = nullptr;
  void (*int8_grouped_gemm_by_bytes)(const Int8GroupedGemm& product) = nullptr;
  void (*sum_groups)(const GroupSums& sums) = nullptr;
  void (*gemm)(const Gemm& product) = nullptr;  // any strides of b
  // Returns the kernel for `count` pairs of rows of k elements.
  BatchedDotKernel (*batched_dot)(std::size_t count, std::size_t k) = nullptr;

  // Indexed by RecurrentCell.
  std::array<void (*)(const RecurrentGates& gates), kRecurrentCells> recurrent_gates{};

  void (*pad_image)(const PaddedImage& image) = nullptr;
  // `weight` has channels x taps elements, and so has `packed`.
  void (*pack_taps)(std::size_t channels, std::size_t taps, const float* weight, float* packed) = nullptr;
  void (*convolve)(const Convolution& shape) = nullptr;
  // Computes bit-identical results with output channels in registers. Needs at least min_pixel_channels of
  // them.
  void (*convolve_pixels)(const Convolution& shape) = nullptr;
  std::size_t min_pixel_channels = 0;
  // Channel c of the result is computed of channel c of the image, which is at in[c]: out[p + c] is the sum
  // over the taps t of weight[c][t] * in[p + offsets[t] + c]. The channels of a pixel are adjacent in both.
  void (*convolve_depthwise)(const Convolution& shape) = nullptr;
  void (*convolve_depthwise_rows)(const Convolution& shape) = nullptr;
  void (*add_windows)(const TransposedConvolution& all) = nullptr;
  void (*max_pool)(const Pooling& pool) = nullptr;  // NaN if there is one in the window; -infinity of nothing
  void (*max_pool_bytes)(const BytePooling& pool) = nullptr;
  // Divides sums by `divisors`, which has y.out x x.out elements.
  void (*mean_pool)(const Pooling& pool, const float* divisors) = nullptr;

  // Chains of vector ops over n >= `width` elements. If n is not a multiple of `block`, a power of two, some
  // elements are computed twice: then no link may read memory that the chain stores.
  std::size_t block = 0;
  LinkFunctions (*link)(const Links& links, std::size_t kind) = nullptr;
  LinkFunctions (*link_to)(ChainEnd end) = nullptr;
  void (*run_chain)(const ChainLink* first, std::size_t n) = nullptr;

  void (*copy)(const StridedCopy& shape, const void* in, void* out) = nullptr;
  Conversions convert{};
  // True if all indices are from 0 to limit - 1; limit >= 0. `wide` indices have 64 bits, others 32.
  bool (*all_within)(const void* indices, bool wide, std::size_t count, std::int64_t limit) = nullptr;
  void (*reduce_bags)(const Bags& bags) = nullptr;
  void (*reduce_byte_bags)(const Bags& bags) = nullptr;    // sums and weighted sums of rows of bytes
  void (*reduce_nibble_bags)(const Bags& bags) = nullptr;  // and of 4 bits
};

}  // namespace sr::kernels
