// All kernels of the instruction set that this translation unit is compiled for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sr/kernels/bags.hpp>
#include <sr/kernels/chains.hpp>
#include <sr/kernels/conversions.hpp>
#include <sr/kernels/convolution.hpp>
#include <sr/kernels/copy.hpp>
#include <sr/kernels/depthwise_convolution.hpp>
#include <sr/kernels/depthwise_rows.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/grouped_gemm.hpp>
#include <sr/kernels/indices.hpp>
#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/int8_depthwise.hpp>
#include <sr/kernels/int8_finish.hpp>
#include <sr/kernels/int8_gemm.hpp>
#include <sr/kernels/int8_grouped_gemm.hpp>
#include <sr/kernels/int8_tiles.hpp>
#include <sr/kernels/int8_windows.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/loops.hpp>
#include <sr/kernels/norms.hpp>
#include <sr/kernels/outer_reductions.hpp>
#include <sr/kernels/pixel_convolution.hpp>
#include <sr/kernels/pooling.hpp>
#include <sr/kernels/quantized_bags.hpp>
#include <sr/kernels/quantized_rows.hpp>
#include <sr/kernels/recurrent.hpp>
#include <sr/kernels/scores.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/transposed_convolution.hpp>
#include <sr/kernels/vec64.hpp>
#include <sr/kernels/vector_ops.hpp>

namespace sr::kernels {

inline namespace SR_KERNEL_ISA {

template <class VectorOp>
consteval VectorLoops make_linked_loops() {
  VectorLoops loops = make_loops<VectorOp>();
  loops.links = &kLinks<VectorOp>;
  return loops;
}

template <class T, bool kByPairs>
inline constexpr SmallWeights<T> kSmallWeights{pack_small<T>, packed_gemm<T, float, kByPairs>,
                                               packed_gemm<T, T, kByPairs>};

// kByPairs: see packed_gemm.
template <bool kByPairs, class... VectorOps, class... OfDoubles, class... OfIntegers>
consteval Kernels make_kernels(vector_ops::List<VectorOps...>, vector_ops::List<OfDoubles...>,
                               vector_ops::List<OfIntegers...>) {
  return {{.name = kIsaName,
           .width = kWidth,
           .tile = kTileRows,
           .reduce = kReductions,
           .extreme = extreme,
           .softmax_rows = softmax_rows,
           .log_softmax_rows = log_softmax_rows,
           .scale_scores = scale_scores,
           .exp_scores = exp_scores,
           .divide_rows = divide_rows,
           .softmax_columns = softmax_columns,
           .log_softmax_columns = log_softmax_columns,
           .layer_norm_rows = layer_norm_rows,
           .rms_norm_rows = rms_norm_rows,
           .group_norm_rows = group_norm_rows,
           .packed_floats = packed_floats,
           .pack = pack,
           .packed_gemm = packed_gemm<float, float, kByPairs>,
           .packed_small = packed_small,
           .bfloat16_weights = kSmallWeights<Bfloat16Bits, kByPairs>,
           .float16_weights = kSmallWeights<Float16Bits, kByPairs>,
           .int8_weights = {pack_small<std::int8_t>, packed_gemm<std::int8_t, float, kByPairs>, nullptr},
           .packed_int8_bytes = packed_int8_bytes,
           .pack_int8 = pack_int8,
           .int8_gemm = int8_gemm<PlainDot>,
           .int8_gemm_by_bytes = kInt8GemmByBytes<kByPairs>,
           .int8_gemm_by_tiles = kInt8GemmByTiles,
           .packed_int8_windows_bytes = packed_int8_windows_bytes,
           .pack_int8_windows = pack_int8_windows,
           .int8_windows = kInt8Windows,
           .int8_windows_by_bytes = kInt8WindowsByBytes<kByPairs>,
           .packed_int8_depthwise_bytes = packed_int8_depthwise_bytes,
           .pack_int8_depthwise = pack_int8_depthwise,
           .int8_depthwise = kInt8Depthwise,
           .int8_depthwise_by_bytes = kInt8DepthwiseByBytes,
           .quantize_floats = kQuantizeFloats,
           .quantize_rows = quantize_rows,
           .packed_grouped_bytes = packed_grouped_bytes,
           .pack_grouped = pack_grouped,
           .grouped_gemm = grouped_gemm,
           .packed_int8_grouped_bytes = packed_int8_grouped_bytes,
           .pack_int8_grouped = pack_int8_grouped,
           .int8_grouped_gemm = int8_grouped_gemm<PlainDot, PlainNibbleDot>,
           .int8_grouped_gemm_by_bytes = kInt8GroupedGemmByBytes,
           .sum_groups = sum_groups,
           .gemm = gemm<kByPairs>,
           .batched_dot = batched_dot,
           .recurrent_gates = {lstm_gates, gru_gates, tanh_gates, relu_gates},
           .pad_image = pad_image,
           .pack_taps = pack_taps,
           .convolve = convolve,
           .convolve_pixels = convolve_pixels<kByPairs>,
           .min_pixel_channels = kDotColumns + 1,
           .convolve_depthwise = convolve_depthwise,
           .convolve_depthwise_rows = convolve_depthwise_rows,
           .add_windows = add_windows,
           .max_pool = max_pool,
           .max_pool_bytes = max_pool_bytes,
           .mean_pool = mean_pool,
           .block = ByFour::kFloats,
           .link = link,
           .link_to = link_to,
           .run_chain = run_chain,
           .copy = copy,
           .convert = kConversions,
           .all_within = all_within,
           .reduce_bags = reduce_bags,
           .reduce_byte_bags = reduce_quantized_bags<8>,
           .reduce_nibble_bags = reduce_quantized_bags<4>},
          {make_linked_loops<VectorOps>()...},
          {make_loops64<OfDoubles, Vec64<double>>()...},
          {make_loops64<OfIntegers, Vec64<std::int64_t>>()...}};
}

template <bool kByPairs>
inline constexpr Kernels kKernels = make_kernels<kByPairs>(BuiltinVectorOps{}, vector_ops::OfDoubles{},
                                                           vector_ops::OfIntegers{});
inline constexpr const Kernels& kOwnKernels = kKernels<false>;

template <class VectorOp>
inline constexpr VectorLoops kOwnLoops = make_loops<VectorOp>();

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
