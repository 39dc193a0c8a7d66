// Operators of sr, which graphs call where no operator of LibTorch does what is needed.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/view.h>
#include <torch/library.h>

#include <sr/base/thread_modes.hpp>
#include <sr/graph/tensor_parts.hpp>

namespace sr::detail {

// Registers these operators with the dispatcher, once per process. A program and its libraries may contain
// several copies of sr, which share the operators.
//
// sr::view.dtype computes aten::view.dtype. LibTorch cannot find that overload for a node, because it does
// not distinguish a dtype from a size.
//
// sr::autocast_is_off returns true if autocast is off for CPUs. It takes a tensor so that no pass evaluates
// it before a call.
//
// sr::part_starts and sr::embedding_bag_of_part: see tensor_parts.hpp.
inline void register_own_operators() {
  static const bool done = [] {
    if (c10::Dispatcher::singleton().findSchema({"sr::view", "dtype"})) return true;
    static torch::Library library(torch::Library::FRAGMENT, "sr", std::nullopt, __FILE__, __LINE__);
    library.def("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
                [](const at::Tensor& self, at::ScalarType dtype) { return self.view(dtype); });
    library.def("autocast_is_off(Tensor self) -> bool",
                [](const at::Tensor&) { return !ThreadModes::now().autocast(); });
    library.def("part_starts(Tensor lengths, Tensor whole, int[] checks, str[] messages) -> Tensor",
                &part_starts);
    library.def(
        "embedding_bag_of_part(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int "
        "mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx, Tensor "
        "starts, Tensor? starts_of_weights, int part) -> Tensor",
        &embedding_bag_of_part);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace sr::detail
