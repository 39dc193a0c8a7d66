// Hooks around the run loop. An observer is a policy type; the run loop, which is compiled once, calls it
// through a table of functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace sr {

struct ProcessedNode;

enum class Phase : std::uint8_t { setup, allocate, release };

// Node hooks are given the block's index in the module and the node's position in that block. Hooks must not
// throw. Observed calls are never replayed: a replay has no nodes.
struct NoObserver {
  void begin(Phase) {}
  void end(Phase) {}
  void before(std::uint32_t, std::size_t, const ProcessedNode&) {}
  void after(std::uint32_t, std::size_t, const ProcessedNode&) {}
};

// The table of an observer's hooks. The observer must outlive it.
struct ObserverHooks {
  void* object = nullptr;  // null if there is no observer
  void (*on_begin)(void* object, Phase phase) = nullptr;
  void (*on_end)(void* object, Phase phase) = nullptr;
  void (*on_before)(void* object, std::uint32_t block, std::size_t index,
                    const ProcessedNode& node) = nullptr;
  void (*on_after)(void* object, std::uint32_t block, std::size_t index, const ProcessedNode& node) = nullptr;

  void begin(Phase phase) const {
    if (object != nullptr) on_begin(object, phase);
  }
  void end(Phase phase) const {
    if (object != nullptr) on_end(object, phase);
  }
  void before(std::uint32_t block, std::size_t index, const ProcessedNode& node) const {
    if (object != nullptr) on_before(object, block, index, node);
  }
  void after(std::uint32_t block, std::size_t index, const ProcessedNode& node) const {
    if (object != nullptr) on_after(object, block, index, node);
  }
};

template <class Observer>
ObserverHooks hooks_of(Observer& observer) {
  if constexpr (std::is_same_v<Observer, NoObserver>) {
    return {};
  } else {
    return {
        &observer,
        [](void* object, Phase phase) { static_cast<Observer*>(object)->begin(phase); },
        [](void* object, Phase phase) { static_cast<Observer*>(object)->end(phase); },
        [](void* object, std::uint32_t block, std::size_t index, const ProcessedNode& node) {
          static_cast<Observer*>(object)->before(block, index, node);
        },
        [](void* object, std::uint32_t block, std::size_t index, const ProcessedNode& node) {
          static_cast<Observer*>(object)->after(block, index, node);
        },
    };
  }
}

// Adds up nanoseconds by node and by phase. The time of a control-flow node includes its sub-blocks.
struct TimingObserver {
  using Clock = std::chrono::steady_clock;

  void begin(Phase phase) {
    if (phase == Phase::setup) starts.clear();  // of a call that threw
    phase_start[static_cast<std::size_t>(phase)] = Clock::now();
  }
  void end(Phase phase) {
    phase_ns[static_cast<std::size_t>(phase)] += since(phase_start[static_cast<std::size_t>(phase)]);
  }
  void before(std::uint32_t, std::size_t, const ProcessedNode&) { starts.push_back(Clock::now()); }
  void after(std::uint32_t block, std::size_t index, const ProcessedNode&) {
    const double spent = since(starts.back());
    starts.pop_back();
    if (node_ns.size() <= block) node_ns.resize(block + 1);
    if (node_ns[block].size() <= index) node_ns[block].resize(index + 1, 0.0);
    node_ns[block][index] += spent;
  }

  static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

  std::vector<Clock::time_point> starts;  // a stack: sub-blocks nest
  Clock::time_point phase_start[3];
  double phase_ns[3] = {0, 0, 0};
  std::vector<std::vector<double>> node_ns;  // [block][node]
};

}  // namespace sr
