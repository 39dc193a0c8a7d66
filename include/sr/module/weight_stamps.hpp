// Detects whether any weight of a module has changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <sr/module/plain_stamp.hpp>
#include <sr/module/weight_stamp.hpp>

namespace sr {

// Keeps the storages of the tensors alive. The objects that hold the tensors must outlive it, and so must
// tensors that are constants.
class WeightStamps {
 public:
  // `object` and `attribute` as in WeightStamp.
  void add(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute) {
    storages_.push_back(tensor.storage());
    const bool is_plain = ConstantStamp::suits(tensor);
    if (is_plain && object != nullptr) {
      attributes_.emplace_back(tensor, object, attribute);
      return;
    }
    has_others_ = true;
    if (is_plain) {
      constants_.emplace_back(tensor);
    } else {
      others_.emplace_back(tensor, object, attribute);
    }
  }

  [[gnu::always_inline]] bool hold() const { return attributes_hold() && (!has_others_ || others_hold()); }

 private:
  // Flattened because the compiler would call c10's function for the version of each weight.
  [[gnu::noinline, gnu::flatten]] bool attributes_hold() const { return all_hold(attributes_); }
  // Not inlined, since the weights of most modules are attributes.
  [[gnu::noinline]] bool others_hold() const {
    return all_hold(constants_) &&
           std::ranges::all_of(others_, [](const WeightStamp& stamp) { return stamp.holds(); });
  }

  std::vector<AttributeStamp> attributes_;
  bool has_others_ = false;  // of the next two
  std::vector<ConstantStamp> constants_;
  std::vector<WeightStamp> others_;
  std::vector<c10::Storage> storages_;
};

}  // namespace sr
