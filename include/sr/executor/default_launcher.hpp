// Runs tasks of calls that bring no launcher.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <c10/core/thread_pool.h>

#include <sr/base/forks.hpp>
#include <sr/base/intra_op_width.hpp>

namespace sr::detail {

// The threads for tasks in a child of fork(). Never destroyed, since the threads may outlive static objects.
struct ThreadsOfChild {
  unsigned forks;
  c10::ThreadPool threads{static_cast<int>(at::get_num_interop_threads()), /*numa_node_id=*/-1,
                          [] { libtorch_threads(); }};

  static ThreadsOfChild& after(unsigned forks) {
    static std::atomic<ThreadsOfChild*> known{nullptr};
    ThreadsOfChild* found = known.load(std::memory_order_acquire);
    if (found != nullptr && found->forks == forks) return *found;
    // A pool that was found belongs to the parent process. Its threads do not exist in this one.
    auto* const made = new ThreadsOfChild{.forks = forks};
    if (known.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *found;
  }
};

// Runs the task on LibTorch's inter-op threads (at::launch), or on threads of sr in a child of fork(). The
// inter-op threads do not exist in a child, and at::launch may never return there: it signals a condition
// variable, and glibc's pthread_cond_signal may wait for threads that slept on it in the parent.
inline void launch_by_default(std::function<void()> task) {
  const unsigned forks = forks_so_far();
  if (forks == 0) return at::launch(std::move(task));
  ThreadsOfChild::after(forks).threads.run([task = std::move(task), state = at::ThreadLocalState()] {
    const at::ThreadLocalStateGuard guard(state);
    task();
  });
}

}  // namespace sr::detail
