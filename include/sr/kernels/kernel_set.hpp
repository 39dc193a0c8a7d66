// All kernels of the instruction set that this translation unit is compiled for.
#pragma once

#include <cstddef>
#include <utility>

#include <sr/kernels/copy.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/kernels/lanes.hpp>
#include <sr/kernels/loops.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/reductions.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {

inline namespace SR_KERNEL_ISA {

template <class... Lanes>
consteval Kernels make_kernels(lanes::List<Lanes...>) {
  return {{.name = kIsaName,
           .sum_rows = sum_rows,
           .max_rows = max_rows,
           .softmax_rows = softmax_rows,
           .log_softmax_rows = log_softmax_rows,
           .layer_norm_rows = layer_norm_rows,
           .packed_floats = packed_floats,
           .pack = pack,
           .packed_product = packed_product,
           .product = product,
           .copy = copy},
          {make_loops<Lanes>()...}};
}

inline constexpr Kernels kOwnKernels = make_kernels(BuiltinLanes{});

template <class Lane>
inline constexpr LaneLoops kOwnLoops = make_loops<Lane>();

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
