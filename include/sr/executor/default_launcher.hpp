// The threads that tasks run on if a call names no launcher.
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

// Of a child of fork(). Never destroyed, since its threads may outlive static objects.
struct ThreadsOfChild {
  unsigned forks;
  c10::ThreadPool threads{static_cast<int>(at::get_num_interop_threads()), /*numa_node_id=*/-1,
                          [] { libtorch_threads(); }};

  static ThreadsOfChild& after(unsigned forks) {
    static std::atomic<ThreadsOfChild*> known{nullptr};
    ThreadsOfChild* found = known.load(std::memory_order_acquire);
    if (found != nullptr && found->forks == forks) return *found;
    // What is found belongs to the parent, whose threads do not exist here.
    auto* const made = new ThreadsOfChild{.forks = forks};
    if (known.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *found;
  }
};

// LibTorch's inter-op threads, as at::launch. A child of fork() has none of them, and may wait forever when
// it signals them: pthread_cond_signal of glibc waits for threads that slept in the parent at that time. So a
// child has threads of its own.
inline void launch_by_default(std::function<void()> task) {
  const unsigned forks = forks_so_far();
  if (forks == 0) return at::launch(std::move(task));
  ThreadsOfChild::after(forks).threads.run([task = std::move(task), state = at::ThreadLocalState()] {
    const at::ThreadLocalStateGuard guard(state);
    task();
  });
}

}  // namespace sr::detail
