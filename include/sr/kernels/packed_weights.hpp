// Weights in the layout that kernels read, packed once for a module and shared by its programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/kernels/aligned.hpp>
#include <sr/kernels/packing.hpp>
#include <sr/kernels/weight_forms.hpp>

namespace sr::replay {

template <class Weight>
struct ByKey {
  bool operator()(const Weight& a, const Weight& b) const { return a.key() < b.key(); }
};

// All packed weights of one kind.
struct PackedSum {
  const char* kind = nullptr;
  std::size_t count = 0, bytes = 0;
};

// Thread-safe. Weights are identified by their addresses; the module keeps them alive and
// unchanged.
class PackedWeights {
 public:
  template <class Weight>  // one of those in packed_
  std::shared_ptr<const Aligned<typename Weight::Element>> find_or_pack(const Weight& weight) {
    if (!weight.of_module) return pack(weight);
    if (auto known = find(weight)) return known;
    // Without the lock: packing takes long, and a process that forks meanwhile would leave the lock held in
    // its child.
    auto packed = pack(weight);
    const std::scoped_lock lock(mutex_);
    return std::get<Packed<Weight>>(packed_).try_emplace(weight, std::move(packed)).first->second;
  }

  // Returns one sum for each kind that exists.
  std::vector<PackedSum> sums() {
    std::vector<PackedSum> sums;
    const auto add = [&]<class Weight>(const Packed<Weight>& all) {
      PackedSum sum{.kind = Weight::kKind, .count = all.size()};
      for (const auto& [weight, packed] : all) sum.bytes += packed->bytes();
      if (sum.count != 0) sums.push_back(sum);
    };
    const std::scoped_lock lock(mutex_);
    std::apply([&](const auto&... all) { (add(all), ...); }, packed_);
    return sums;
  }

 private:
  template <class Weight>
  using Packed = std::map<Weight, std::shared_ptr<const Aligned<typename Weight::Element>>, ByKey<Weight>>;

  template <class Weight>
  std::shared_ptr<const Aligned<typename Weight::Element>> find(const Weight& weight) {
    const std::scoped_lock lock(mutex_);
    const auto& all = std::get<Packed<Weight>>(packed_);
    const auto known = all.find(weight);
    return known == all.end() ? nullptr : known->second;
  }

  std::mutex mutex_;
  std::tuple<Packed<WeightMatrix>, Packed<WeightMatrixOf<kernels::Bfloat16Bits>>,
             Packed<WeightMatrixOf<kernels::Float16Bits>>, Packed<WeightMatrixOf<std::int8_t>>,
             Packed<Int8Matrix>, Packed<Int8Taps>, Packed<GroupedMatrix>, Packed<Int8GroupedMatrix>,
             Packed<WeightTaps>>
      packed_;
};

}  // namespace sr::replay
