// Forked bodies that no thread has started yet. A thread that waits for one runs it instead of blocking.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/executor/default_launcher.hpp>

namespace sr::detail {

// Completes the future with the result or the exception of `call`.
template <class Call>
void complete(c10::ivalue::Future& future, const Call& call) {
  c10::IValue result;
  try {
    result = call();
  } catch (...) {
    future.setError(std::current_exception());
    return;
  }
  future.markCompleted(std::move(result));
}

template <class Task>
void launch(const CallOptions& options, Task task) {
  if (options.launcher) return options.launcher(std::move(task));
  launch_by_default(std::move(task));
}

// Runs the task at once, or passes it to the launcher. If the launcher throws, or no thread can be started,
// the future that the task completes holds the exception.
template <class Task>
void run_or_launch(const CallOptions& options, c10::ivalue::Future& future, Task task) {
  if (!options.on_launcher) return task();
  try {
    launch(options, std::move(task));
  } catch (...) {
    future.setErrorIfNeeded(std::current_exception());
  }
}

// Tasks by the future that each completes. Only the thread that takes a task out may run it: the launcher's
// thread and all waiting threads try, and one succeeds. A waiting thread runs only the task that it waits
// for, and futures cannot wait for each other in a circle, so that any number of nested forks ends on a
// single thread.
class ForkedTasks {
 public:
  using Task = std::function<void()>;

  // One for the process. Never destroyed, since threads of a launcher may outlive static objects.
  static ForkedTasks& all() {
    static ForkedTasks& tasks = *new ForkedTasks;
    return tasks;
  }

  // The task must own the future.
  void add(const c10::ivalue::Future& future, Task task) {
    Shard& shard = shard_of(future);
    const std::scoped_lock lock(shard.mutex);
    shard.tasks.emplace(&future, std::move(task));
  }

  // The task that completes the future; empty if another thread has taken it, or if it is not a task of sr.
  Task take(const c10::ivalue::Future& future) {
    Shard& shard = shard_of(future);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.tasks.find(&future);
    if (found == shard.tasks.end()) return {};
    Task task = std::move(found->second);
    shard.tasks.erase(found);
    return task;
  }

  void run(const c10::ivalue::Future& future) {
    if (const Task task = take(future)) task();
  }

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const c10::ivalue::Future*, Task> tasks;
  };

  Shard& shard_of(const c10::ivalue::Future& future) {
    return shards_[(reinterpret_cast<std::uintptr_t>(&future) >> 6) % shards_.size()];
  }

  std::array<Shard, 16> shards_;
};

}  // namespace sr::detail
