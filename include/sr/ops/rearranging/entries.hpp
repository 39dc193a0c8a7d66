// Operators that rearrange or repeat elements: roll, flip, tile, padding, pixel_shuffle. Most are called
// through the typed handles of ATen, with one allocation and no boxing.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/factories/entries.hpp>
#include <sr/ops/parts.hpp>
#include <sr/ops/rearranging/layouts.hpp>
#include <sr/ops/rearranging/lowering.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

// Views every dimension as two: the repetition, and the input's dimension.
struct Repeat {
  void operator()(const at::Tensor& self, at::IntArrayRef repeats, at::Tensor& out) const {
    const auto dims = static_cast<std::int64_t>(repeats.size());
    TORCH_CHECK(dims >= self.dim(),
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    const std::int64_t added = dims - self.dim();
    c10::SmallVector<std::int64_t, 6> sizes;
    c10::SmallVector<std::int64_t, 12> given, wanted;
    for (std::int64_t d = 0; d < dims; ++d) {
      const std::int64_t size = d < added ? 1 : self.size(d - added);
      const std::int64_t times = repeats[static_cast<std::size_t>(d)];
      sizes.push_back(times * size);
      given.append({1, size});
      wanted.append({times, size});
    }
    give_sizes(out, sizes);
    if (out.numel() == 0) return;
    at::Tensor blocks = out.view(wanted);
    at::native::copy_(blocks, self.reshape(given).expand(wanted));
  }
};

namespace registered {

// Ops that rearrange elements.
inline const NewTensorsOf<at::_ops::pixel_shuffle, Layouts<&replay::layouts::pixel_shuffle>> pixel_shuffle;
inline const NewTensorsOf<at::_ops::pixel_unshuffle, Layouts<&replay::layouts::pixel_unshuffle>>
    pixel_unshuffle;
inline const NewTensorsOf<at::_ops::channel_shuffle, Layouts<&replay::layouts::suggested_with_number>>
    channel_shuffle;
inline const NewTensorsOf<at::_ops::roll, Lower<&replay::lower::roll>, Layouts<&replay::layouts::roll>> roll;
inline const NewTensorsOf<at::_ops::flip, Layouts<&replay::layouts::copy_in_order>> flip;
inline const NewTensorsOf<at::_ops::fliplr, Layouts<&replay::layouts::copy_in_order>> fliplr;
inline const NewTensorsOf<at::_ops::flipud, Layouts<&replay::layouts::copy_in_order>> flipud;
inline const NewTensorsOf<at::_ops::rot90, Layouts<&replay::layouts::rotate>> rot90;
inline const NewTensorsOf<at::_ops::tile, Layouts<&replay::layouts::repeat<true>>> tile;
inline const NewTensorsOf<at::_ops::repeat_interleave_Tensor> repeat_interleave_Tensor;
inline const NewTensorsOf<at::_ops::repeat_interleave_self_Tensor> repeat_interleave_self_Tensor;
inline const NewTensorsOf<at::_ops::repeat_interleave_self_int, Lower<&replay::lower::repeat_interleave>,
                          Layouts<&replay::layouts::repeat_interleave>>
    repeat_interleave_self_int;
inline const NewTensorsOf<at::_ops::constant_pad_nd, Lower<&replay::lower::constant_pad>,
                          Layouts<&replay::layouts::padded>>
    constant_pad_nd;
inline const NewTensorsOf<at::_ops::diag_embed, Layouts<&replay::layouts::diag_embed>> diag_embed;
inline const NewTensorsOf<at::_ops::block_diag, Layouts<&replay::layouts::block_diag>> block_diag;

// Ops whose results may share the bytes of an argument.
inline const NativeOf<at::_ops::pad, Lower<&replay::lower::pad>, Layouts<&replay::layouts::pad>> pad;

inline const OutVariant<"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", Repeat,
                        Layouts<&layouts::repeat<>>>
    repeat;

inline const OperatorOf<at::_ops::tril, Layouts<&layouts::like_first>> tril;

inline const OperatorOf<at::_ops::triu, Layouts<&layouts::like_first>> triu;

inline const OperatorOf<at::_ops::reflection_pad1d, Layouts<&layouts::padded>> reflection_pad1d;

inline const OperatorOf<at::_ops::reflection_pad2d, Layouts<&layouts::padded>> reflection_pad2d;

inline const OperatorOf<at::_ops::replication_pad1d, Layouts<&layouts::padded>> replication_pad1d;

inline const OperatorOf<at::_ops::replication_pad2d, Layouts<&layouts::padded>> replication_pad2d;

}  // namespace registered
}  // namespace sr::ops
