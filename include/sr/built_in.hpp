// The planners and observers whose runtimes libsr holds.
#pragma once

#include <concepts>

#include <sr/fwd.hpp>
#include <sr/memory/planners.hpp>

namespace sr::memory {

template <Planner P>
class Arena;

}  // namespace sr::memory

namespace sr::detail {

template <memory::Planner Planner, class Observer>
class RuntimeState;

template <class List>
struct BuiltInOf;
template <class... P>
struct BuiltInOf<memory::PlannerList<P...>> {
  template <class T>
  static constexpr bool holds = (std::same_as<T, P> || ...);
};

template <class Planner>
concept BuiltInPlanner = BuiltInOf<memory::Planners>::holds<Planner>;

template <class Planner, class Observer>
concept BuiltIn = BuiltInPlanner<Planner> &&
    (std::same_as<Observer, NoObserver> || std::same_as<Observer, TimingObserver>);

// A runtime is in libsr, or its definition is in sight.
template <class Planner, class Observer>
concept CanRun = BuiltIn<Planner, Observer> || requires {
  sizeof(RuntimeState<Planner, Observer>);
};

}  // namespace sr::detail
