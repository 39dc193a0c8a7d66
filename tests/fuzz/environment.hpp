// What a call depends on apart from its arguments: weights that changed before it, and modes of the thread
// and of the process.
#pragma once

#include <functional>

#include <c10/core/DefaultDtype.h>
#include <torch/script.h>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// Makes double the default dtype while it lives.
struct DoubleByDefault {
  caffe2::TypeMeta before = c10::get_default_dtype();
  DoubleByDefault() { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
  DoubleByDefault(const DoubleByDefault&) = delete;
  DoubleByDefault& operator=(const DoubleByDefault&) = delete;
  ~DoubleByDefault() { c10::set_default_dtype(before); }
};

bool changes_weight(const Run& run);

// Changes the weight that run `index` names, if any: writes it in place, or gives it other data.
void change_weight(const Case& program, const torch::jit::Module& module, std::size_t index);

// Restores the weights to their values in run `index`, in place.
void restore_weights(const Case& program, const torch::jit::Module& module, std::size_t index);

// Calls `run` under the modes of the run.
void under_modes(const Run& run, const std::function<void()>& call);

}  // namespace sr::fuzz
