// Forked bodies that nobody has begun to run, so that whoever waits for one can run it instead of blocking.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>

namespace sr::detail {

// Completes the future with what `call` returns or throws.
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
  at::launch(std::move(task));
}

// Here and now, or as a task of the launcher. What the launcher throws, and there is no thread to be had, is
// in the future that the task completes.
template <class Task>
void run_or_launch(const CallOptions& options, c10::ivalue::Future& future, Task task) {
  if (!options.on_launcher) return task();
  try {
    launch(options, std::move(task));
  } catch (...) {
    future.setErrorIfNeeded(std::current_exception());
  }
}

// By the future a task completes. Taking a task out is what gives the right to run it: the launcher's thread
// and those that wait all try, and one gets it. A waiter only runs what it waits for, and futures can not
// wait for each other in a circle, so any number of nested forks comes to an end on a single thread.
class ForkedTasks {
 public:
  using Task = std::function<void()>;

  // One for the process, never destroyed: threads of a launcher may outlive static objects.
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

  // The task that completes the future; empty when somebody else has it already or it was none of ours.
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
