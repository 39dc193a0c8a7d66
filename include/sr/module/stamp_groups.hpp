// Stamps of tensors, grouped by rank.
#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

namespace sr {

// Stamp<kRank> has a static suits() and a constructor with the same parameters, and holds(), which says
// whether nothing has changed.
template <template <std::size_t> class Stamp>
class StampGroups {
 public:
  // Returns false, without effect, if the stamp of no rank suits.
  template <class... Args>
  bool add(const Args&... args) {
    const auto add_to = [&]<std::size_t kRank>(std::vector<Stamp<kRank>>& group) {
      if (!Stamp<kRank>::suits(args...)) return false;
      group.emplace_back(args...);
      return true;
    };
    return std::apply([&](auto&... groups) { return (add_to(groups) || ...); }, groups_);
  }

  [[gnu::always_inline]] bool hold() const {
    const auto group_holds = [](const auto& group) __attribute__((always_inline)) {
      for (const auto& stamp : group) {
        if (!stamp.holds()) [[unlikely]]
          return false;
      }
      return true;
    };
    return std::apply([&](const auto&... groups) { return (group_holds(groups) && ...); }, groups_);
  }

  void clear() {
    std::apply([](auto&... groups) { (groups.clear(), ...); }, groups_);
  }

 private:
  std::tuple<std::vector<Stamp<1>>, std::vector<Stamp<2>>, std::vector<Stamp<3>>, std::vector<Stamp<4>>>
      groups_;
};

}  // namespace sr
