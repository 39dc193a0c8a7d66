// The stamps of all weights of a module, grouped by rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
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
    if (add_plain<1, 2, 3, 4>(tensor, object, attribute)) return;
    others_.emplace_back(tensor, object, attribute, metadata_);
  }

  bool empty() const { return storages_.empty(); }

  [[gnu::always_inline]] bool hold() const {
    const auto group_holds = [](const auto& group) __attribute__((always_inline)) {
      for (const auto& stamp : group) {
        if (!stamp.holds()) [[unlikely]]
          return false;
      }
      return true;
    };
    return std::apply([&](const auto&... groups) { return (group_holds(groups) && ...); }, plain_) &&
           (others_.empty() || others_hold());
  }

 private:
  template <std::size_t... kRanks>
  bool add_plain(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute) {
    const auto add_to = [&]<std::size_t kRank>(std::vector<PlainStamp<kRank>>& group) {
      if (!PlainStamp<kRank>::suits(tensor, object)) return false;
      group.emplace_back(tensor, object, attribute);
      return true;
    };
    return (add_to(std::get<std::vector<PlainStamp<kRanks>>>(plain_)) || ...);
  }

  [[gnu::noinline]] bool others_hold() const {
    const std::int64_t* metadata = metadata_.data();
    for (const WeightStamp& stamp : others_) {
      if (!stamp.holds(metadata)) return false;
    }
    return true;
  }

  std::tuple<std::vector<PlainStamp<1>>, std::vector<PlainStamp<2>>, std::vector<PlainStamp<3>>,
             std::vector<PlainStamp<4>>>
      plain_;
  std::vector<WeightStamp> others_;
  std::vector<std::int64_t> metadata_;  // of `others_`
  std::vector<c10::Storage> storages_;
};

}  // namespace sr
