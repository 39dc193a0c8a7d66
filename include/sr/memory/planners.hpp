// All planners that come with sr, and how a name selects one of them.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sr/memory/greedy_by_size.hpp>
#include <sr/memory/linear_scan.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/planner.hpp>
#include <sr/memory/standard_resizing.hpp>
#include <sr/memory/validate.hpp>

namespace sr::memory {

template <Planner... P>
struct PlannerList {
  static constexpr std::array<std::string_view, sizeof...(P)> names{P::name...};
};

using Planners = PlannerList<StandardResizing, LinearScan, GreedyBySize, NoReuse>;

constexpr const auto& planner_names() {
  return Planners::names;
}

namespace by_name {

template <class Visitor>
[[noreturn]] void visit(PlannerList<>, std::string_view name, const Visitor&) {
  std::string message = "sr::memory: no planner is called '" + std::string(name) + "'; there are";
  for (const std::string_view known : planner_names()) message.append(" ").append(known);
  throw std::invalid_argument(message);
}

template <class First, class... Rest, class Visitor>
decltype(auto) visit(PlannerList<First, Rest...>, std::string_view name, Visitor&& visitor) {
  if constexpr (sizeof...(Rest) == 0) {
    if (name != First::name) visit(PlannerList<>{}, name, visitor);
    return std::forward<Visitor>(visitor)(std::type_identity<First>{});
  } else {
    if (name != First::name) return visit(PlannerList<Rest...>{}, name, std::forward<Visitor>(visitor));
    return std::forward<Visitor>(visitor)(std::type_identity<First>{});
  }
}

}  // namespace by_name

// Calls visit(std::type_identity<P>{}) for the planner of that name and returns what it returns.
template <class Visitor>
decltype(auto) with_planner(std::string_view name, Visitor&& visit) {
  return by_name::visit(Planners{}, name, std::forward<Visitor>(visit));
}

}  // namespace sr::memory
